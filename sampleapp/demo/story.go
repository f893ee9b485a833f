package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// story tells what happens, with the time since the beginning.
type story struct {
	out     io.Writer
	broken  func(error) // called when out cannot be written
	begin   time.Time
	chapter int
}

func newStory(out io.Writer, broken func(error)) *story {
	return &story{out: out, broken: broken, begin: time.Now()}
}

func (s *story) print(format string, args ...any) {
	if _, err := fmt.Fprintf(s.out, format, args...); err != nil {
		s.broken(fmt.Errorf("tell the story: %w", err))
	}
}

// next begins a chapter: what it is about, and why it matters.
func (s *story) next(title string, why ...string) {
	s.chapter++
	s.print("\n%d. %s\n", s.chapter, title)
	for _, line := range why {
		s.print("   %s\n", line)
	}
}

// tell tells one thing that happened.
func (s *story) tell(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n            ")
	s.print("   %6.2fs  %s\n", time.Since(s.begin).Seconds(), text)
}
