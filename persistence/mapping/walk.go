package mapping

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// walk is the way through one value: the elements that it stands in.
type walk struct {
	kind  error // what a complaint of Validate is: ErrValue or ErrRebuild
	steps []step
}

// step is an element of a collection: the index in a list, or a key.
type step struct {
	index int
	key   reflect.Value
}

// enter goes into a collection, leave comes back; between them, to and toKey say
// which element comes.
func (w *walk) enter()                  { w.steps = append(w.steps, step{}) }
func (w *walk) leave()                  { w.steps = w.steps[:len(w.steps)-1] }
func (w *walk) to(index int)            { w.steps[len(w.steps)-1] = step{index: index} }
func (w *walk) toKey(key reflect.Value) { w.steps[len(w.steps)-1] = step{key: key} }

// at writes a path with the indexes and keys of the way: Lines[].Note becomes
// Lines[3].Note, Prices[].Cents becomes Prices["EUR"].Cents, and the key itself
// Prices[key "EUR"].
func (w *walk) at(path string) string {
	var b strings.Builder
	for _, s := range w.steps {
		before, after, found := strings.Cut(path, "[")
		if !found {
			break
		}
		inside, rest, _ := strings.Cut(after, "]")
		b.WriteString(before + "[")
		if inside != "" {
			b.WriteString(inside + " ")
		}
		b.WriteString(s.String() + "]")
		path = rest
	}
	return b.String() + path
}

// maxShown bounds how much of a key an error shows.
const maxShown = 60

func (s step) String() string {
	if !s.key.IsValid() {
		return strconv.Itoa(s.index)
	}
	var text string
	if s.key.Kind() == reflect.String {
		text = strconv.Quote(s.key.String())
	} else {
		text = strconv.Quote(fmt.Sprint(s.key.Interface()))
		if plain(s.key.Kind()) {
			text = text[1 : len(text)-1]
		}
	}
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

// plain says whether values of a kind need no quotes.
func plain(k reflect.Kind) bool { return k >= reflect.Bool && k <= reflect.Float64 }
