package persistence

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pieces are what texts are generated from: everything at which lexers of SQL
// part ways, and statements that would do harm.
var pieces = []string{
	"COMMIT", "ROLLBACK", "ROLLBACK AND CHAIN", "END", "BEGIN", "ATOMIC", "SAVEPOINT a", "PREPARE", "TRANSACTION", "START TRANSACTION", "ABORT",
	"SELECT ", "SELECT 1", "SELECT 'x'", "1", "2e1", "a", " AS ", "E", "e", "N", "B", "X", "U&", "case", "commit",
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql ", "BEGIN ATOMIC ", " AS 'select 1'", "DO ", "NULL",
	"'", "'", "''", `\'`, `\`, `\\`, `"`, `""`, "$$", "$", "$a$", "$a", "$1", "a$", "_", "ä",
	";", ";", "; ", ",", "(", ")", "+", "-", "*", "/", "||", "::text", ".",
	"--", "--x\n", "\n", "\r", "\t", "\f", "\v", " ", " ", "/*", "*/", "/**/", "/* ; */", "\ufeff",
}

// literals are strings as PostgreSQL knows them; their bodies hold what looks
// like their end.
var bodies = []string{"", "a", ";COMMIT;", "''", `\\`, "--", "/*", "*/", "$$", "$a$", `"`, "\n", " ;COMMIT;--"}

func literal(t *rapid.T) string {
	body := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bodies), 0, 3).Draw(t, "body"), "")
	switch rapid.IntRange(0, 6).Draw(t, "quoting") {
	case 0:
		return "'" + body + rapid.SampledFrom([]string{"", `\`}).Draw(t, "end") + "'"
	case 1:
		return "E'" + body + rapid.SampledFrom([]string{"", `\'`, `\'\'`}).Draw(t, "end") + "'"
	case 2:
		return "$b$" + body + "$b$"
	case 3:
		return "$_1$" + body + "$_1$"
	case 4:
		return "E'" + body + "'" + gap(t) + "'" + rapid.SampledFrom([]string{`\'`, `\'; COMMIT; --`, `x`}).Draw(t, "next") + "'"
	case 5:
		return "'" + body + "'" + gap(t) + "'" + rapid.SampledFrom([]string{`\`, `x`}).Draw(t, "next") + "'"
	default:
		return "U&'" + strings.ReplaceAll(body, `\\`, `\0041`) + "'"
	}
}

// gap is what joins two strings into one, or nearly.
func gap(t *rapid.T) string {
	return rapid.SampledFrom([]string{"\n", "\r", " \n ", "--x\n", "--'\n--x\n ", "\n--x\n", "/**/\n", " ", "\f\n"}).Draw(t, "gap")
}

// texts generates texts of several statements that PostgreSQL often accepts.
func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "parts") {
			switch rapid.IntRange(0, 4).Draw(t, "part") {
			case 0:
				b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
			case 1:
				b.WriteString("SELECT " + literal(t) + "," + literal(t) + ";")
			case 2:
				b.WriteString("SELECT " + literal(t) + rapid.SampledFrom([]string{";", ";COMMIT;", "; --'\nCOMMIT"}).Draw(t, "next"))
			case 3:
				b.WriteString("CREATE FUNCTION pg_temp.f" + rapid.SampledFrom([]string{"(", "(begin ", "(a ", "(begin/**/"}).Draw(t, "name") +
					"int) RETURNS int LANGUAGE sql " +
					rapid.SampledFrom([]string{
						"BEGIN ATOMIC SELECT 1; END", "BEGIN ATOMIC END", "BEGIN ATOMIC SELECT 1 case; END", "AS 'select 1'",
						"BEGIN --\nATOMIC SELECT case 1 when 1 then 2 end; SELECT 1 AS end; END", "RETURN 1",
					}).Draw(t, "routine") + ";")
			default:
				b.WriteString(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 8).Draw(t, "pieces"), ""))
			}
		}
		return b.String()
	})
}

// TestNoGeneratedTextControlsTheTransactionAndPasses lets a real server say what
// each text does, with both readings of backslashes.
func TestNoGeneratedTextControlsTheTransactionAndPasses(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"on", "off"} {
		t.Run("standard_conforming_strings "+setting, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			require.Empty(t, w.run("SET standard_conforming_strings = "+setting+"; SET escape_string_warning = off").err)
			rapid.Check(t, func(t *rapid.T) {
				text := texts().Draw(t, "text")
				o := w.inTransaction(text)
				judge(t, text, o)
			})
		})
	}
}

func judge(t require.TestingT, text string, o outcome) {
	err := refuseControl(text)
	if o.control() != "" {
		require.ErrorIs(t, err, ErrTransactionControl, "%q passed: %v", text, o)
	}
	if o.err == "" && o.control() == "" && !strings.Contains(text, `\`) {
		require.NoError(t, err, "%q is harmless: %v", text, o)
	}
}

// FuzzControl: a text that refuseControl lets pass leaves the transaction that
// it runs in alone.
func FuzzControl(f *testing.F) {
	for _, text := range append(append([]string(nil), refused...), harmless...) {
		f.Add(text)
	}
	w := newWire(f)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) || strings.Contains(strings.ToLower(text), "pg_") {
			t.Skip() // ends the text; functions that end sessions
		}
		judge(t, text, w.inTransaction(text))
	})
}
