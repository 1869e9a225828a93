package push

import (
	"errors"
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
	for _, c := range []struct {
		name   string
		by     []testimony
		guilty map[int]control.Class
		struck int
	}{
		{"nobody knows", []testimony{{}, {}, {}}, nil, 0},
		{"what an agent says of itself", []testimony{{failed: blames(2)}, {failed: blames(2)}, {trouble: full}}, map[int]control.Class{2: control.Preflight}, 0},
		{"silence", []testimony{{failed: blames(1)}, {lost: errors.New("gone")}, {failed: blames(1)}}, map[int]control.Class{1: control.Unreachable}, 0},
		{"two at once", []testimony{{}, {lost: errors.New("gone")}, {lost: errors.New("gone")}, {}}, map[int]control.Class{1: control.Unreachable, 2: control.Unreachable}, 0},
		{"a wrong block", []testimony{{}, {}, {failed: rejects(1)}}, map[int]control.Class{1: control.Integrity}, 0},
		{"who says so of a second one", []testimony{{}, {}, {failed: rejects(1), accused: true}}, map[int]control.Class{2: control.Integrity}, 0},
		{"nobody is judged by what it says of itself alone", []testimony{{}, {failed: rejects(1)}, {}}, nil, 0},
		{"the root's blocks are right", []testimony{{}, {failed: rejects(0)}, {failed: told(0)}}, nil, 1},
		{"who rejects those again is wrong", []testimony{{}, {failed: rejects(0), strikes: 1}, {failed: told(0)}}, map[int]control.Class{1: control.Unreachable}, 1},
		{"what is only told counts little", []testimony{{}, {failed: blames(3)}, {failed: told(1)}, {failed: told(1)}}, nil, 3},
		{"a connection broke for the first time", []testimony{{failed: blames(2)}, {}, {failed: blames(0)}}, nil, 2},
		{"it broke again", []testimony{{failed: blames(2)}, {}, {failed: blames(0), strikes: 1}}, map[int]control.Class{2: control.Unreachable}, 2},
		{"most say so", []testimony{{}, {failed: blames(3)}, {failed: blames(3)}, {failed: blames(1)}}, nil, 3},
		{"a rank that nobody has", []testimony{{failed: blames(7)}, {failed: rejects(-1)}, {failed: rejects(9)}}, nil, 0},
	} {
		guilty, struck := judge(c.by)
		if len(guilty) != len(c.guilty) || struck != c.struck {
			t.Errorf("%s: guilty are %v, struck is %d; want %v and %d", c.name, guilty, struck, c.guilty, c.struck)
		}
		for rank, class := range c.guilty {
			if guilty[rank] == nil || guilty[rank].Class != class {
				t.Errorf("%s: rank %d is found %+v, want %s", c.name, rank, guilty[rank], class)
			}
		}
	}
}

func TestSummaryOfAnEnd(t *testing.T) {
	by := []testimony{{name: rootName}, {name: "a", failed: &control.GroupFailed{Rank: 2, Cause: "died"}}, {name: "b"}}
	for text, s := range map[string]string{
		"without b":                  summaryOf(by, map[int]*control.Trouble{2: {}}, 0),
		"with b broke":               summaryOf(by, nil, 2),
		"connections broke, and all": summaryOf(by, nil, 0),
	} {
		if !strings.Contains(s, text) {
			t.Errorf("%q does not say %q", s, text)
		}
	}
}
