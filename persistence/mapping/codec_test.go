package mapping_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/mapping/maptest"
)

type (
	secret struct{ text string }
	status int
	phase  string
)

const (
	open status = iota + 7
	closed
)

func (s secret) reveal() string { return s.text }

func hide(text string) (secret, error) { return secret{text}, nil }

func registry(t *testing.T, all ...mapping.Registration) mapping.Option {
	t.Helper()
	r, err := mapping.NewRegistry(all...)
	require.NoError(t, err)
	return mapping.With(r)
}

func TestRegistrationsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	at := func(r mapping.Registration, source string) mapping.Registration {
		r.Source = source
		return r
	}
	ok := at(mapping.Codec(secret.reveal, hide), "app/a.go:1")
	for _, order := range [][]mapping.Registration{{ok, at(ok, "app/b.go:2")}, {at(ok, "app/b.go:2"), ok}} {
		_, err := mapping.NewRegistry(order...)
		require.ErrorIs(t, err, mapping.ErrType)
		require.ErrorContains(t, err, "codec of mapping_test.secret (app/b.go:2)")
		require.ErrorContains(t, err, "codec of mapping_test.secret (app/a.go:1)")
		require.ErrorContains(t, err, "its type is already that of the")
	}
	_, err := mapping.NewRegistry(
		at(mapping.Codec[secret, string](nil, hide), "1"),
		at(mapping.Codec[secret, string](secret.reveal, nil), "2"),
		at(mapping.Codec(func(s string) string { return s }, func(s string) (string, error) { return s, nil }), "3"),
		at(mapping.Enum[status](nil), "4"),
		at(mapping.Enum(map[status]string{open: "x", closed: "x"}), "5"),
		at(mapping.Enum(map[phase]string{"a": "\x00"}), "6"),
		at(mapping.Enum(map[string]string{"a": "a"}), "7"),
	)
	require.EqualError(t, err, strings.Join([]string{
		"codec of mapping_test.secret (1): type cannot be mapped: a function is nil",
		"codec of mapping_test.secret (2): type cannot be mapped: a function is nil",
		"codec of string (3): type cannot be mapped: string is no type of its own; declare a named one",
		"enum of mapping_test.status (4): type cannot be mapped: no codes",
		"enum of mapping_test.status (5): type cannot be mapped: two values have the same code",
		`enum of mapping_test.phase (6): type cannot be mapped: code "\x00": text has NUL at byte 0`,
		"enum of string (7): type cannot be mapped: string is no type of its own; declare a named one",
	}, "\n"))
}

func TestEnumsKeepTheirCodesThroughRenamedConstants(t *testing.T) {
	t.Parallel()
	type event struct{ S status }
	before := mustPlan(t, reflect.TypeFor[event](), registry(t, mapping.Enum(map[status]string{open: "open", closed: "it's closed"})))
	require.Equal(t, "text", before.Tables()[0].Columns[0].Type)
	require.Equal(t, `"S" IN ('it''s closed', 'open')`, before.Tables()[0].Checks[0].Expression)
	rows, err := before.Encode(event{closed})
	require.NoError(t, err)
	require.Equal(t, []any{"it's closed"}, rows.Root())

	after := mustPlan(t, reflect.TypeFor[event](), registry(t, mapping.Enum(map[status]string{1: "open", 2: "it's closed"})))
	got, err := load(after, "it's closed")
	require.NoError(t, err)
	require.Equal(t, event{2}, got)

	_, err = load(after, "gone")
	require.ErrorIs(t, err, mapping.ErrRebuild)
	require.ErrorContains(t, err, `S: value cannot be rebuilt: "gone" is no code of mapping_test.status`)
	_, err = after.Encode(event{})
	require.EqualError(t, err, `mapping_test.event: S: value cannot be stored: "0" is no declared value of mapping_test.status; add it to the codes of persistence.Enum`)
}

func TestAnEnumsCheckKeepsOutOtherCodes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	p := maptest.MustPlan(t, reflect.TypeFor[struct {
		A maptest.Color
		B []maptest.Mode
	}]())
	tables := s.Create(t, p)
	require.NoError(t, s.Exec(`INSERT INTO t1 VALUES (1, 'it''s red', 1), (2, E'back\\slash', NULL)`))
	require.ErrorContains(t, s.Exec(`INSERT INTO t1 VALUES (3, 'pink', 1)`), `"A"`)
	require.NoError(t, s.Exec(`INSERT INTO "t1.B" VALUES (1, 0, 'FAST')`))
	require.ErrorContains(t, s.Exec(`INSERT INTO "t1.B" VALUES (1, 1, 'fast')`), `"@value"`)
	require.ErrorContains(t, s.Exec(`INSERT INTO "t1.B" VALUES (1, -1, 'FAST')`), `"@position"`)
	require.ErrorContains(t, s.Exec(`UPDATE t1 SET "@count:B" = -1`), `"@count:B"`)
	_, err := s.Load(0, tables, 1, p)
	require.NoError(t, err)
}

var errToday = errors.New("not valid today")

// The constructor sees what was stored, so that old data meets today's rules.
func TestCodecsReconstructThroughTheConstructor(t *testing.T) {
	t.Parallel()
	type event struct{ Secrets []*secret }
	strict := func(text string) (secret, error) {
		switch text {
		case "old":
			return secret{}, errToday
		case "panic":
			panic("in user code")
		}
		return secret{text}, nil
	}
	p := mustPlan(t, reflect.TypeFor[event](), registry(t, mapping.Codec(secret.reveal, strict)))
	record := func(texts ...any) *mapping.Record {
		r := p.NewRecord()
		r.Add(0, scanned(p, 0, int64(len(texts))))
		require.Equal(t, len(texts) > 0, r.Expects(1))
		for i, text := range texts {
			r.Add(1, scanned(p, 1, int64(i), text))
		}
		return r
	}
	got, err := p.Decode(record("new", nil))
	require.NoError(t, err)
	require.Equal(t, event{[]*secret{{"new"}, nil}}, got)
	_, err = p.Decode(record("new", "old"))
	require.ErrorIs(t, err, errToday)
	require.ErrorIs(t, err, mapping.ErrRebuild)
	require.ErrorContains(t, err, "Secrets[1]: value cannot be rebuilt: not valid today")
	_, err = p.Decode(record("panic"))
	require.ErrorContains(t, err, "Secrets[0]: value cannot be rebuilt: panic in its codec: in user code")
	_, err = p.Encode(event{[]*secret{{"old"}}})
	require.ErrorIs(t, err, mapping.ErrValue)
	require.ErrorIs(t, err, errToday)
}

func TestACodecThatLosesSomethingIsFoundAtEmit(t *testing.T) {
	t.Parallel()
	lossy := mapping.Codec(secret.reveal, func(text string) (secret, error) { return secret{strings.TrimSpace(text)}, nil })
	p := mustPlan(t, reflect.TypeFor[struct{ S secret }](), registry(t, lossy))
	_, err := p.Encode(struct{ S secret }{secret{"a"}})
	require.NoError(t, err)
	_, err = p.Encode(struct{ S secret }{secret{"a "}})
	require.ErrorIs(t, err, mapping.ErrValue)
	require.ErrorContains(t, err, "S: value cannot be stored: its codec gives back another value")

	type key struct{ text, note string }
	forgets := mapping.Codec(func(k key) string { return k.text }, func(text string) (key, error) { return key{text: text}, nil })
	p = mustPlan(t, reflect.TypeFor[struct{ M map[key]int }](), registry(t, forgets))
	_, err = p.Encode(struct{ M map[key]int }{map[key]int{{text: "a"}: 1}})
	require.NoError(t, err)
	_, err = p.Encode(struct{ M map[key]int }{map[key]int{{"a", "n"}: 1}})
	require.ErrorContains(t, err, "its codec gives back a key that does not equal it (==)")

	hidden := mapping.Codec(
		func(s secret) []string { return strings.Split(s.text, ",") },
		func(parts []string) (secret, error) { return secret{strings.Join(parts[:1], ",")}, nil })
	p = mustPlan(t, reflect.TypeFor[struct{ S []secret }](), registry(t, hidden))
	_, err = p.Encode(struct{ S []secret }{[]secret{{"a"}, {"a,b"}}})
	require.ErrorContains(t, err, "S[1]: value cannot be stored: its codec gives back another value")
	rows, err := p.Encode(struct{ S []secret }{[]secret{{"a"}, {"b"}}})
	require.NoError(t, err)
	require.Equal(t, 2, rows.Len(2))
}

// An event may itself be a value object, if its representation has fields.
func TestTheMappedTypeMayHaveACodec(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	p := maptest.MustPlan(t, reflect.TypeFor[maptest.Money]())
	require.Equal(t, "Amount", p.Tables()[0].Columns[0].Name)
	v := maptest.Must("EUR")
	for _, got := range s.RoundTrip(t, p, s.Create(t, p), v) {
		require.Empty(t, maptest.Same(v, got))
	}
	_, err := mapping.NewPlan(reflect.TypeFor[maptest.SKU](), mapping.With(maptest.Registry()))
	require.ErrorContains(t, err, "maptest.SKU (a struct) is no struct of fields")
	type a struct{ _ int }
	type b struct{ _ string }
	loop := registry(t, mapping.Codec(func(a) b { return b{} }, func(b) (a, error) { return a{}, nil }), mapping.Codec(func(b) a { return a{} }, func(a) (b, error) { return b{}, nil }))
	_, err = mapping.NewPlan(reflect.TypeFor[a](), loop)
	require.ErrorContains(t, err, "is no struct of fields")
	_, err = mapping.NewPlan(reflect.TypeFor[struct{ A a }](), loop)
	require.ErrorContains(t, err, "A: type cannot be mapped: mapping_test.a contains itself")
}

// Two apps in one process may store one type in two ways.
func TestRegistriesDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[struct{ S secret }]()
	asText := mustPlan(t, typ, registry(t, mapping.Codec(secret.reveal, hide)))
	asBytes := mustPlan(t, typ, registry(t, mapping.Codec(func(s secret) []byte { return []byte(s.text) }, func(b []byte) (secret, error) { return secret{string(b)}, nil })))
	require.Equal(t, "text", asText.Tables()[0].Columns[0].Type)
	require.Equal(t, "bytea", asBytes.Tables()[0].Columns[0].Type)
	_, err := mapping.NewPlan(typ)
	require.ErrorContains(t, err, "unexported fields: text; register a codec")
}
