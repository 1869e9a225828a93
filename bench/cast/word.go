package cast

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/rdmc"
)

// What a step may take: one that all come to at about the same time; one that waits for a message, whose end the group
// itself sees to; and one whose only purpose is to tell of a failure.
const (
	stepTime    = 15 * time.Second
	messageTime = 1000 * time.Hour
	failedTime  = 2 * time.Second
	crowdTime   = 100 * time.Millisecond // more for each member, because all of them may share a few cores
)

// word is what a member says in a step. The package's documentation says which step has which fields.
type word struct {
	Error     string   `json:"error,omitempty"` // this member cannot go on, and why
	Blame     *int     `json:"blame,omitempty"` // the member whose failure that was, if it is known
	Rank      int      `json:"rank,omitempty"`
	Job       *Job     `json:"job,omitempty"`
	Host      string   `json:"host,omitempty"`
	Clock     string   `json:"clock,omitempty"`     // names the clock that the member reads
	Lane      string   `json:"lane,omitempty"`      // to be opened
	Address   string   `json:"address,omitempty"`   // where the member waits for the others
	Addresses []string `json:"addresses,omitempty"` // of all members
	Choice    *Choice  `json:"choice,omitempty"`    // of what the job leaves open
	Next      string   `json:"next,omitempty"`      // what is done next; nothing: the job is done
	Run       int      `json:"run,omitempty"`
	At        int64    `json:"at_ns,omitempty"`  // when a message was complete
	CPU       int64    `json:"cpu_ns,omitempty"` // processor time that the run has taken there
}

// What can be done next.
const (
	nextCast = "multicast"
	nextCopy = "copy"
)

// swap gives a word in a step, and returns the other's.
func swap(ctx context.Context, session *connect.Session, step string, mine word, patience time.Duration) (theirs word, err error) {
	if ctx.Err() != nil {
		return theirs, ctx.Err() // a swap would break the session, which can still say why
	}
	note, err := json.Marshal(mine)
	if err != nil {
		return theirs, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	card, err := session.Swap(ctx, connect.Card{Step: step, Note: note})
	if err != nil {
		return theirs, short(err)
	}
	return parseWord(card.Note)
}

// parseWord reads a word that came from another process. The exchange limits its length.
func parseWord(note []byte) (w word, err error) {
	decoder := json.NewDecoder(bytes.NewReader(note))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&w); err != nil {
		return word{}, fmt.Errorf("its word cannot be read (is it of another version?): %w", err)
	}
	if err := w.clean(); err != nil {
		return word{}, err
	}
	if w.CPU < 0 {
		return word{}, fmt.Errorf("its word: %d ns of processor time", w.CPU)
	}
	if w.Job != nil {
		if err := w.Job.Validate(); err != nil {
			return word{}, fmt.Errorf("its job: %w", err)
		}
		if w.Rank < 1 || w.Rank >= len(w.Job.Members) {
			return word{}, fmt.Errorf("its job: rank %d in a group of %d", w.Rank, len(w.Job.Members))
		}
	}
	return w, nil
}

// maxText is how long what a word tells may be: an error line, a name, an address.
const maxText = 1 << 10

// clean refuses text that would play tricks on a terminal. Of an error it leaves what can be shown.
func (w *word) clean() error {
	w.Error = printable.Clean(w.Error, maxText)
	texts := append([]string{w.Host, w.Clock, w.Lane, w.Address, w.Next}, w.Addresses...)
	if w.Job != nil {
		texts = append(texts, w.Job.Members...)
	}
	for _, text := range texts {
		if err := printable.Check("its word:", text, maxText); err != nil {
			return err
		}
	}
	return nil
}

// What happens to sessions, as it stands behind a member's name.
var (
	errGone   = errors.New("left, or died")
	errSilent = errors.New("gave no sign of life")
	// errInterrupted: somebody wanted an end.
	errInterrupted = errors.New("was interrupted")
)

// short leaves of a session's error what people want to know: in which round of which session does not matter.
func short(err error) error {
	switch {
	case errors.Is(err, connect.ErrPeerGone):
		return errGone
	case errors.Is(err, connect.ErrSilent):
		return errSilent
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case !errors.Is(err, connect.ErrGaveUp):
		return err
	}
	for inner := errors.Unwrap(err); inner != nil && errors.Is(inner, connect.ErrGaveUp) && errors.Unwrap(inner) != nil; inner = errors.Unwrap(inner) {
		err = inner // the innermost that has words of its own
	}
	return gaveUp{err}
}

// gaveUp is what the root said when it gave up, as people want to read it.
type gaveUp struct{ error }

func (g gaveUp) Error() string {
	return strings.TrimPrefix(g.error.Error(), connect.ErrGaveUp.Error()+": ")
}

func (g gaveUp) Unwrap() error { return g.error }

// named makes one short line of an error that names members: what failed and who, and not in which round of what.
func named(err error) error {
	var failure *rdmc.Failure
	var met *mesh.Error
	switch {
	case errors.As(err, &failure) && failure.Rank != rdmc.Unknown:
		return fmt.Errorf("member %d (%s) %w", failure.Rank, failure.Member, failure.Cause)
	case errors.As(err, &met):
		var all []error
		for _, m := range met.Members {
			all = append(all, fmt.Errorf("member %v %w", m, short(m.Err)))
		}
		return oneLine(all)
	}
	return err
}

// hostClock reads the clock that all processes of a host share, in nanoseconds.
func hostClock() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail for a clock that every Linux has
	return t.Nano()
}

// clockName names the clock that hostClock reads: two processes with the same name read the same one. A kernel has one
// for each of its time namespaces. Empty: nobody knows.
func clockName() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, failed := os.Readlink("/proc/self/ns/time")
	if err != nil || failed != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + " " + space
}
