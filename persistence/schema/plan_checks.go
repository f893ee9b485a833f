package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

func (p *planner) checks(old, t Table) {
	retyped := p.retyped[t.key()]
	same := func(a, b Check) bool {
		return a.Expression == b.Expression && !mentionsAny(a.Expression, retyped)
	}
	gone, fresh, renamed := pair(old.Checks, t.Checks, func(c Check) string { return c.Name }, same)
	for _, r := range renamed {
		p.renameConstraint(t, r[0].Name, r[1].Name)
	}
	// A check that is replaced is so in one statement, unless rows have to
	// change in between.
	swap := !p.filled[t.key()] && len(retyped) == 0
	for _, c := range gone {
		if swap && slices.ContainsFunc(fresh, func(n Check) bool { return n.Name == c.Name }) {
			continue
		}
		p.dropConstraint(t, "check", c.Name, dropConstraints)
	}
	for _, c := range fresh {
		i := slices.IndexFunc(old.Checks, func(o Check) bool { return o.Name == c.Name })
		var before *Check
		if i >= 0 {
			before = &old.Checks[i]
		}
		p.addCheck(t, before, c, swap && before != nil)
	}
}

// addCheck adds or replaces a check: for new rows at once, for existing ones by
// reading them while others write.
func (p *planner) addCheck(t Table, old *Check, c Check, early bool) {
	name := Quote(c.Name)
	add := t.alterTable("DROP CONSTRAINT IF EXISTS " + name + ", ADD " + constraint(c.Name, "CHECK ("+c.Expression+")"))
	s := Step{
		Risk: DataDependent, phase: addChecks, Online: true,
		Title: fmt.Sprintf("add check %s to %s", name, t.qualified()),
		Rows:  "are read; if one does not satisfy " + c.Expression + ", the step fails and leaves the check for new rows only.",
		Look:  fmt.Sprintf("SELECT count(*) FROM %s WHERE NOT (%s)", t.qualified(), c.Expression),
		Locks: "the table against other schema changes while it is read.",
	}
	switch {
	case old != nil && old.Expression == c.Expression:
		s.Title = fmt.Sprintf("make check %s of %s again, for the new type of its column", name, t.qualified())
		if p.lossless(t) {
			s.Risk, s.Look = Safe, ""
			s.Rows = "all satisfy it as before; they are read once all the same."
		}
	case old != nil:
		s.Title = fmt.Sprintf("change check %s of %s", name, t.qualified())
		describeSet(&s, t, old.Expression, c.Expression)
	}
	switch validate := t.alterTable("VALIDATE CONSTRAINT " + name); {
	case p.opts.Transactional:
		s.Locks = "the table against everything while it is read."
		s.Statements = []string{add}
	case early:
		first := s
		first.phase, first.Online, first.Locks = addReferences, false, briefly
		first.Title += ", for new rows"
		first.Rows = "are not looked at yet; rows that are written from now on have to satisfy it."
		first.Statements = []string{add + " NOT VALID"}
		p.add(first)
		s.Title += ", for existing rows"
		s.Statements = []string{validate}
	default:
		s.Statements = []string{add + " NOT VALID", validate}
	}
	p.add(s)
}

// lossless tells whether all columns of the table that change their type keep
// their values.
func (p *planner) lossless(t Table) bool {
	old, _ := p.old.Find(t.Schema, t.Name)
	for _, name := range p.retyped[t.key()] {
		before, _ := old.Column(name)
		now, _ := t.Column(name)
		if retype(before.Type, now.Type) == Destructive {
			return false
		}
	}
	return true
}

// codeSet matches the list of a condition like "state" IN ('A', 'B').
var codeSet = regexp.MustCompile(`(?is)\b(?:IN\s*\(|ANY\s*\(\s*ARRAY\s*\[)(\s*E?'(?:[^']|'')*'(?:::[a-z ]+)?\s*(?:,\s*E?'(?:[^']|'')*'(?:::[a-z ]+)?\s*)*)[)\]]`)

var code = regexp.MustCompile(`(?i)E?'(?:[^']|'')*'`)

// describeSet explains the change of a set of codes and lowers the risk where
// codes were only added: whatever satisfied the old set satisfies the new one.
func describeSet(s *Step, t Table, old, now string) {
	before, restBefore, ok := splitSet(old)
	after, restAfter, okAfter := splitSet(now)
	if !ok || !okAfter || restBefore != restAfter {
		return
	}
	added := slices.DeleteFunc(slices.Clone(after), func(c string) bool { return slices.Contains(before, c) })
	removed := slices.DeleteFunc(slices.Clone(before), func(c string) bool { return slices.Contains(after, c) })
	if len(removed) == 0 {
		s.Risk = Safe
		s.Title += ": codes " + list(added) + " are added"
		s.Rows = "all satisfy it, because no code is removed; they are read once all the same. " +
			"Code of before does not know the new codes: deploy readers before writers."
		s.Look = ""
		return
	}
	s.Title += ": codes " + list(removed) + " are removed"
	if len(added) > 0 {
		s.Title += ", codes " + list(added) + " are added"
	}
	s.Rows = "are read; if one has a removed code, the step fails and leaves the check for new rows only. " +
		"Code of before that still writes a removed code fails from here on."
	s.Look = fmt.Sprintf("SELECT count(*) FROM %s WHERE NOT (%s)", t.qualified(), now)
}

func list(codes []string) string {
	if len(codes) == 0 {
		return "(none)"
	}
	return strings.Join(codes, ", ")
}

// onlySet matches a condition that is nothing but a set of codes, for its column
// or NULL: within NOT or a comparison, more codes would mean fewer rows.
var onlySet = regexp.MustCompile(`(?is)^\s*(?:(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*)\s+IS\s+NULL\s+OR\s+)?` +
	`(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*)\s*(?:\bIN\s*\(…\)|=\s*ANY\s*\(\s*ARRAY\s*\[…\]\s*\))\s*$`)

// splitSet takes the codes out of a condition that is one set of them.
func splitSet(expression string) (codes []string, rest string, ok bool) {
	found := codeSet.FindAllStringSubmatchIndex(expression, -1)
	if len(found) != 1 {
		return nil, "", false
	}
	from, to := found[0][2], found[0][3]
	rest = expression[:from] + "…" + expression[to:]
	return code.FindAllString(expression[from:to], -1), rest, onlySet.MatchString(rest)
}
