package push

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/push/control"
)

func TestJudge(t *testing.T) {
	full := &control.Trouble{Class: control.Preflight, Text: "disk full"}
	blames := func(rank int) *control.GroupFailed { return &control.GroupFailed{Rank: rank, Cause: "died"} }
	rejects := func(rank int) *control.GroupFailed {
		return &control.GroupFailed{Rank: rank, Cause: "hash", Rejected: true}
	}
	told := func(rank int) *control.GroupFailed {
		return &control.GroupFailed{Rank: rank, Cause: "says", Told: true}
	}
	again := []string{"a"}
	for _, c := range []struct {
		name   string
		by     []testimony
		guilty map[int]control.Class
		broken []hop
	}{
		{"nobody knows", []testimony{{}, {}, {}}, nil, nil},
		{"what an agent says of itself", []testimony{{failed: blames(2)}, {failed: blames(2)}, {trouble: full}}, map[int]control.Class{2: control.Preflight}, nil},
		{"silence", []testimony{{failed: blames(1)}, {lost: errors.New("gone")}, {failed: blames(1)}}, map[int]control.Class{1: control.Unreachable}, nil},
		{"two at once", []testimony{{}, {lost: errors.New("gone")}, {lost: errors.New("gone")}, {}}, map[int]control.Class{1: control.Unreachable, 2: control.Unreachable}, nil},
		{"a wrong block", []testimony{{}, {}, {failed: rejects(1)}}, map[int]control.Class{1: control.Integrity}, nil},
		{"who says so of a second one", []testimony{{}, {}, {failed: rejects(1), accused: true}}, map[int]control.Class{2: control.Integrity}, nil},
		{"a wrong block of its own", []testimony{{}, {failed: rejects(1)}, {}}, nil, []hop{{1, 1}}},
		{"another one", []testimony{{}, {failed: rejects(1), broken: again}, {}}, map[int]control.Class{1: control.Unreachable}, []hop{{1, 1}}},
		{"the root's blocks are right", []testimony{{}, {failed: rejects(0)}, {failed: told(0)}}, nil, []hop{{0, 1}}},
		{"who rejects those again is wrong", []testimony{{}, {failed: rejects(0), broken: again}, {failed: told(0)}}, map[int]control.Class{1: control.Unreachable}, []hop{{0, 1}}},
		{"what is only told counts little", []testimony{{}, {failed: blames(3)}, {failed: told(1)}, {failed: told(1)}}, nil, []hop{{1, 3}}},
		{"a connection broke for the first time", []testimony{{failed: blames(2)}, {}, {failed: blames(0)}}, nil, []hop{{0, 2}}},
		{"it broke again", []testimony{{failed: blames(2)}, {}, {failed: blames(0), broken: again}}, map[int]control.Class{2: control.Unreachable}, []hop{{0, 2}}},
		{"one has broken with three", []testimony{{}, {failed: blames(3), broken: again}, {failed: blames(3), broken: again}, {broken: again}}, map[int]control.Class{3: control.Unreachable}, []hop{{1, 3}, {2, 3}}},
		{"only one has seen it end", []testimony{{}, {}, {failed: told(1)}}, nil, []hop{{2, 2}}},
		{"two were told, and nobody has seen it", []testimony{{}, {failed: told(-1)}, {failed: told(-1)}}, nil, nil},
		{"a rank that nobody has", []testimony{{failed: blames(7)}, {failed: rejects(-1)}, {failed: rejects(9)}}, nil, nil},
		{"the root itself", []testimony{{failed: blames(0)}, {}, {}}, nil, nil},
	} {
		for i := range c.by {
			c.by[i].name = string(rune('p' + i))
		}
		v := judge(c.by)
		if len(v.guilty) != len(c.guilty) || !slices.Equal(v.broken, c.broken) {
			t.Errorf("%s: guilty are %v, broken is %v; want %v and %v", c.name, v.guilty, v.broken, c.guilty, c.broken)
		}
		for rank, class := range c.guilty {
			if v.guilty[rank] == nil || v.guilty[rank].Class != class {
				t.Errorf("%s: rank %d is found %+v, want %s", c.name, rank, v.guilty[rank], class)
			}
		}
	}
}

// word is what one says of another, by their names.
type word struct {
	of, about string
	rejects   bool
}

// suit is a push whose groups end one after the other, as the pusher judges them.
type suit struct{ all []*host }

func newSuit(names ...string) *suit {
	s := &suit{}
	for _, name := range names {
		s.all = append(s.all, &host{name: name})
	}
	return s
}

// end judges a group of all that are left. Who says nothing was told of the first word.
func (s *suit) end(words ...word) {
	members := alive(s.all)
	rank := func(name string) int {
		return 1 + slices.IndexFunc(members, func(h *host) bool { return h.name == name })
	}
	by := []testimony{{name: rootName}}
	for _, h := range members {
		by = append(by, testimony{name: h.name, broken: h.broken, accused: h.accused})
	}
	for i := range by {
		by[i].failed = &control.GroupFailed{Rank: rank(words[0].about), Told: true}
	}
	for _, w := range words {
		by[rank(w.of)].failed = &control.GroupFailed{Rank: rank(w.about), Rejected: w.rejects}
	}
	v := judge(by)
	for r, why := range v.guilty {
		members[r-1].trouble = why
	}
	v.remember(members, s.all)
	(&pusher{}).noteAccusers(&group{hosts: members}, by, v.guilty)
}

// left are the names of those that are left.
func (s *suit) left() (names []string) {
	for _, h := range alive(s.all) {
		names = append(names, h.name)
	}
	return names
}

// both ends say that a connection broke.
func both(one, other string) []word { return []word{{of: one, about: other}, {of: other, about: one}} }

func only(one, other string) []word { return []word{{of: one, about: other}} }

// One bad host, of any rank, does as it likes as long as it is there. It goes, and costs one of the others at most, whatever it is they say.
func TestOneBadHost(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	first := func(others []string, _ int) string { return others[0] }
	last := func(others []string, _ int) string { return others[len(others)-1] }
	turn := func(others []string, round int) string { return others[round%len(others)] }
	root := func([]string, int) string { return rootName }
	for what, says := range map[string]func(bad, victim string, round int) []word{
		"it slanders":            func(bad, victim string, _ int) []word { return only(bad, victim) },
		"it breaks, both say so": func(bad, victim string, _ int) []word { return both(bad, victim) },
		"it breaks, and is mute": func(bad, victim string, _ int) []word { return only(victim, bad) },
		"now this, now that": func(bad, victim string, round int) []word {
			return [][]word{only(bad, victim), only(victim, bad), both(victim, bad)}[round%3]
		},
		"it rejects, then slanders": func(bad, victim string, round int) []word {
			return []word{{of: bad, about: victim, rejects: round == 0}}
		},
		"it slanders, then rejects": func(bad, victim string, round int) []word {
			return []word{{of: bad, about: victim, rejects: round > 1}}
		},
		"it blames itself": func(bad, _ string, _ int) []word { return only(bad, bad) },
	} {
		for pick, whom := range map[string]func([]string, int) string{"first": first, "last": last, "in turn": turn, "the pusher": root} {
			for _, bad := range names {
				s := newSuit(names...)
				for round := 0; slices.Contains(s.left(), bad); round++ {
					others := slices.DeleteFunc(s.left(), func(name string) bool { return name == bad })
					if round > 3 || len(others) < len(names)-2 {
						t.Fatalf("%s (%s): %s is bad, and after %d groups there are %v", what, pick, bad, round, s.left())
					}
					s.end(says(bad, whom(others, round), round)...)
				}
				if len(s.left()) < len(names)-2 {
					t.Errorf("%s (%s): %s is bad, and left are %v", what, pick, bad, s.left())
				}
			}
		}
	}
}

// All connections of a host break at once, and again. Those who were with it have nothing held against them afterwards.
func TestHostThatBreaksWithAll(t *testing.T) {
	for _, bad := range []string{"a", "b", "c"} {
		s := newSuit("a", "b", "c")
		var words []word
		for _, name := range s.left() {
			if name != bad {
				words = append(words, only(name, bad)...)
			}
		}
		if s.end(words...); len(s.left()) != 3 {
			t.Errorf("left are %v although it was once", s.left())
		}
		s.end(words...)
		for _, h := range s.all {
			if h.alive() != (h.name != bad) || h.alive() && len(h.broken) > 0 {
				t.Errorf("%s is bad: %+v", bad, h)
			}
		}
	}
}

// Of two whose connection broke again the one goes that broke with a third one too, although the other is blamed as often.
func TestWhoBreaksWithMost(t *testing.T) {
	for _, names := range [][]string{{"bad", "b", "c"}, {"b", "bad", "c"}, {"c", "b", "bad"}} {
		s := newSuit(names...)
		s.end(only("bad", "b")...)
		s.end(append(only("bad", "b"), only("c", "bad")...)...)
		if left := s.left(); len(left) != 2 || slices.Contains(left, "bad") {
			t.Errorf("left are %v", left)
		}
	}
}

// A link between two good hosts that breaks once costs nobody; one that stays broken, one of them: whom the other blames, if only one says so.
func TestOneBadLink(t *testing.T) {
	for _, c := range []struct {
		words []word
		left  string
	}{{both("b", "c"), "a b d"}, {only("b", "c"), "a b d"}, {only("c", "b"), "a c d"}} {
		s := newSuit("a", "b", "c", "d")
		if s.end(c.words...); len(s.left()) != 4 {
			t.Errorf("left are %v although it was once", s.left())
		}
		if s.end(c.words...); strings.Join(s.left(), " ") != c.left {
			t.Errorf("left are %v, want %s", s.left(), c.left)
		}
	}
}

func TestSummaryOfAnEnd(t *testing.T) {
	by := []testimony{{name: rootName}, {name: "a", failed: &control.GroupFailed{Rank: 2, Cause: "died"}}, {name: "b"}}
	for text, s := range map[string]string{
		"without b":                  summaryOf(by, verdict{guilty: map[int]*control.Trouble{2: {}}}),
		"a and b: died":              summaryOf(by, verdict{broken: []hop{{1, 2}}}),
		"a: died":                    summaryOf(by, verdict{broken: []hop{{1, 1}}}),
		"pusher and a: died":         summaryOf(by, verdict{broken: []hop{{0, 1}}}),
		"connections broke, and all": summaryOf(by, verdict{}),
	} {
		if !strings.Contains(s, text) {
			t.Errorf("%q does not say %q", s, text)
		}
	}
}
