package control

import (
	"time"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/push/manifest"
)

// Limits of texts and lists.
const (
	MaxNotice = 1000 // bytes of a text for people; what is longer is cut
	MaxName   = 255  // bytes of a member's name
	maxWord   = 64   // bytes of the name of a version, or of a way
	maxWays   = 16
	maxInUse  = 1000 // pushes under way at an agent
	maxEpoch  = 1 << 30
)

// notices makes texts from elsewhere fit for a terminal.
func notices(texts ...*string) {
	for _, t := range texts {
		*t = printable.Clean(*t, MaxNotice)
	}
}

func checkName(what, name string) error {
	if name == "" {
		return malformed("%s is empty", what)
	}
	return checkText(what, name, MaxName)
}

func checkText(what, text string, limit int) error {
	if err := printable.Check(what, text, limit); err != nil {
		return malformed("%v", err)
	}
	return nil
}

// checkRange refuses numbers that are not between least and most, both included.
func checkRange[N int | int64](what string, n, least, most N) error {
	if n < least || n > most {
		return malformed("%s is %d, must be from %d to %d", what, n, least, most)
	}
	return nil
}

// checkSpan refuses a time that is negative or longer than most.
func checkSpan(what string, nanoseconds int64, most time.Duration) error {
	return checkRange(what+" in ns", nanoseconds, 0, int64(most))
}

func checkID(id manifest.ID) error {
	if id == (manifest.ID{}) {
		return malformed("the push has no ID")
	}
	return nil
}

func checkGroup(id manifest.ID, epoch int) error {
	return first(checkID(id), checkRange("epoch", epoch, 0, maxEpoch))
}

// first is the first of some errors.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Validate makes the version printable: whether it is the right one is another question.
func (q *Hello) Validate() error {
	notices(&q.Weft)
	return nil
}

// Validate refuses names that cannot be printed. Ways may be ones that only a later version knows.
func (a *Greeting) Validate() error {
	notices(&a.Weft, &a.Host, &a.DirMode)
	if len(a.Ways) > maxWays || len(a.Pushes) > maxInUse {
		return malformed("%d ways, %d pushes", len(a.Ways), len(a.Pushes))
	}
	for _, way := range a.Ways {
		if err := checkText("way", way, maxWord); err != nil {
			return err
		}
	}
	for i := range a.Pushes {
		p := &a.Pushes[i]
		notices(&p.ID, &p.Owner, &p.Dest)
	}
	return checkText("name of the agent", a.Name, MaxName)
}

// Validate refuses a group that is none.
func (q *Begin) Validate() error { return checkGroup(q.ID, q.Epoch) }

// Validate refuses a group that is none.
func (q *End) Validate() error { return checkGroup(q.ID, q.Epoch) }

// Validate refuses a wait that would outlast the lease.
func (q *StatusRequest) Validate() error {
	return first(checkID(q.ID), checkSpan("wait", q.Wait, Lease))
}

// Validate refuses pages that no stream has.
func (q *Pages) Validate() error {
	if err := first(checkID(q.ID), checkRange("first page", q.First, 0, MaxBlocks), checkRange("pages", len(q.Pages), 0, MaxBlocks-q.First)); err != nil {
		return err
	}
	sum := 0
	for _, page := range q.Pages {
		sum += len(page)
	}
	return checkRange("bytes of pages", sum, 0, MaxPages)
}

// Validate refuses a push that is none.
func (q *HaveRequest) Validate() error { return checkID(q.ID) }

// Validate refuses what cannot be a closing record; the signature is another question.
func (q *Finish) Validate() error {
	return first(checkID(q.ID), checkRange("bytes of the closing record", len(q.Closing), 1, manifest.MaxClosing))
}

// Validate refuses a root that is no hash. A push that was only compared has none.
func (a *Finished) Validate() error {
	if n := len(a.Root); n != 0 && n != len(manifest.Hash{}) {
		return malformed("a root of %d bytes", n)
	}
	return nil
}

// Validate makes the reason printable.
func (q *Abort) Validate() error {
	notices(&q.Reason)
	return checkID(q.ID)
}

// Validate has nothing to refuse.
func (a *Empty) Validate() error { return nil }
