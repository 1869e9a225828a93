package perftest

import (
	"fmt"
	"slices"
	"strings"
)

// Operation is what a run does.
type Operation uint8

// The operations, in the order in which they are measured.
const (
	Write Operation = iota
	Read
	Send
	WriteImm
	FetchAdd
	CompareSwap
)

// Operations are the names of the operations.
var Operations = []string{"write", "read", "send", "writeimm", "fetch-add", "compare-swap"}

// Atomic reports whether the operation is on a word.
func (o Operation) Atomic() bool { return o == FetchAdd || o == CompareSwap }

// twoSided reports whether the target hears of each message.
func (o Operation) twoSided() bool { return o == Send || o == WriteImm }

// PingPong reports whether latency is half of a round trip, because the peer answers.
func (o Operation) PingPong() bool { return o == Write || o.twoSided() }

func (o Operation) String() string { return word(Operations, uint8(o)) }

// MarshalText implements encoding.TextMarshaler.
func (o Operation) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Operation) UnmarshalText(text []byte) error {
	return find(Operations, "operation", text, (*uint8)(o))
}

// Measure is what is looked at.
type Measure uint8

// The measures.
const (
	Latency Measure = iota
	Bandwidth
)

// Measures are the names of the measures.
var Measures = []string{"latency", "bandwidth"}

func (m Measure) String() string { return word(Measures, uint8(m)) }

// MarshalText implements encoding.TextMarshaler.
func (m Measure) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Measure) UnmarshalText(text []byte) error {
	return find(Measures, "measure", text, (*uint8)(m))
}

// Wait is how either side waits for a completion.
type Wait uint8

// The ways to wait.
const (
	Polling  Wait = iota // never sleep
	Sleeping             // sleep at once
	Hybrid               // spin for a while, then sleep
)

// Waits are the names of the ways to wait.
var Waits = []string{"polling", "sleeping", "hybrid"}

func (w Wait) String() string { return word(Waits, uint8(w)) }

// MarshalText implements encoding.TextMarshaler.
func (w Wait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Wait) UnmarshalText(text []byte) error { return find(Waits, "way to wait", text, (*uint8)(w)) }

func word(words []string, i uint8) string {
	if int(i) < len(words) {
		return words[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

func find(words []string, kind string, text []byte, into *uint8) error {
	i := slices.Index(words, string(text))
	if i < 0 {
		return fmt.Errorf("there is no %s %q: there are %s", kind, text, strings.Join(words, ", "))
	}
	*into = uint8(i)
	return nil
}
