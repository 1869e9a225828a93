package verbstest

import (
	"encoding/gob"
	"errors"
	"slices"
	"sync"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// This file is what travels between a test and an end: commands, results, and errors that survive the journey.

// Command is something for an end to do. Objects are named by the small numbers that opening them returned.
type Command interface {
	// carryOut runs on the end's loop, without waiting.
	carryOut(a *agent) (Result, error)
}

// Together is several commands in one moment, of which none waits. Result: that of the last, or of the first that fails.
type Together struct{ Commands []Command }

func (c Together) carryOut(a *agent) (r Result, err error) {
	for _, command := range c.Commands {
		if r, err = command.carryOut(a); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Result is what a command brings back. Each command says which fields it fills.
type Result struct {
	ID          int
	Number      uint32 // of a queue pair
	Address     verbs.Address
	Region      region
	Remote      verbs.RemoteSpan
	State       verbs.State
	Room        int // for requests, or for what else was asked about
	ReceiveRoom int
	Count       int
	Word        uint64
	Bytes       []byte
	Completions []verbs.Completion
	Limits      verbs.Limits
	Stream      streamStatus
	Text        []string
	Now         clock.Time
}

// region is where a memory lies, for spans made by a test.
type region struct {
	Address   uint64
	Length    uint64
	LocalKey  uint32
	RemoteKey uint64
}

// wireError is an error that has travelled through a pipe. It still answers errors.Is.
type wireError struct {
	Text  string
	Kinds []string // texts of the Err variables that it wraps
}

func (f *wireError) Error() string { return f.Text }

// Is reports whether the error was, before it travelled, a target.
func (f *wireError) Is(target error) bool { return slices.Contains(f.Kinds, target.Error()) }

var errorKinds = []error{verbs.ErrClosed, verbs.ErrInUse, verbs.ErrQueueFull, verbs.ErrState, verbs.ErrLimit,
	verbs.ErrBounds, verbs.ErrArgument, verbs.ErrForeign, verbs.ErrNotSupported, verbs.ErrProvider, loop.ErrBusy,
	loop.ErrFull, loop.ErrClosed, loop.ErrNoMachine, ErrHang, ErrNotCapable}

// What an end can answer besides the errors of package verbs.
var (
	// ErrHang: what a command waited for did not come within the lab's limit.
	ErrHang = errors.New("did not happen")
	// ErrNotCapable: the lab has not declared the capability.
	ErrNotCapable = errors.New("this lab cannot")
)

func newWireError(err error) *wireError {
	if err == nil {
		return nil
	}
	f := &wireError{Text: err.Error()}
	for _, kind := range errorKinds {
		if errors.Is(err, kind) {
			f.Kinds = append(f.Kinds, kind.Error())
		}
	}
	return f
}

func (f *wireError) asError() error {
	if f == nil {
		return nil
	}
	return f
}

// register tells gob of everything that travels as an interface.
var register = sync.OnceFunc(func() {
	for _, c := range []any{
		OpenDomain{}, OpenMemory{}, OpenPair{}, OpenPool{}, OpenWindow{}, Close{}, Inspect{}, Describe{},
		Connect{}, Post{}, PostPool{}, SetQueueAccess{}, SetMemoryAccess{}, Reset{}, SetTimer{}, Take{},
		Load{}, Store{}, Fill{}, Checksum{}, Changed{}, CPUAdd{}, Mallocs{}, Turns{}, Now{}, Resources{},
		Bind{}, Revoke{}, Lender{}, Borrower{}, Stream{}, Sink{}, Increment{}, StreamState{}, Watch{}, WatchSlots{}, WatchState{}, BadArguments{}, CloseOrder{},
		Together{}, Until{}, Ended{}, StreamAt{}, StreamEnded{}, StateIs{}, Watched{},
	} {
		gob.Register(c)
	}
})
