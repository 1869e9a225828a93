package mesh

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/connect"
)

// Error is what went wrong, member by member.
type Error struct {
	Doing   string   // what was being done: "join", `step "results"`
	Members []Member // ascending
}

// Member is what went wrong with one member.
type Member struct {
	Index int
	Name  string
	Err   error
}

func (m Member) String() string { return fmt.Sprintf("%d (%s)", m.Index, m.Name) }

// Error tells everything in one line. Members with whom the same went wrong stand together.
func (e *Error) Error() string {
	var order []string
	same := make(map[string][]string)
	for _, m := range e.Members {
		text := verb(m.Err)
		if same[text] == nil {
			order = append(order, text)
		}
		same[text] = append(same[text], m.String())
	}
	for i, text := range order {
		order[i] = list(same[text]) + text
	}
	return fmt.Sprintf("mesh: %s: %s", e.Doing, strings.Join(order, "; "))
}

// verb is an error as it stands behind the members' names.
func verb(err error) string {
	if errors.Is(err, ErrAbsent) {
		return " " + err.Error()
	}
	return ": " + err.Error()
}

// list names members: "member 3 (h3)", "members 3 (h3), 4 (h4) and 5 (h5)".
func list(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return "member " + names[0]
	}
	return "members " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// Unwrap makes errors.Is look at every member's.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Members))
	for i, m := range e.Members {
		errs[i] = m.Err
	}
	return errs
}

// Failed are the members that an error of this package names as lost: those with whom no session goes on. Nil if there are
// none, and for any other error.
func Failed(err error) []int {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	var failed []int
	for _, m := range e.Members {
		if lost(m.Err) {
			failed = append(failed, m.Index)
		}
	}
	return failed
}

// lost reports whether an error has ended a session.
func lost(err error) bool {
	return !slices.ContainsFunc([]error{ErrRegroup, connect.ErrArgument, connect.ErrBusy},
		func(harmless error) bool { return errors.Is(err, harmless) })
}

// gather makes an error of what went wrong with each member, nil being nothing.
func gather(doing string, names []string, errs []error) error {
	e := &Error{Doing: doing}
	for i, err := range errs {
		if err != nil {
			e.Members = append(e.Members, Member{i, names[i], err})
		}
	}
	if e.Members == nil {
		return nil
	}
	return e
}
