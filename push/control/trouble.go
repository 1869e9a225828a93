package control

// Class is what kind of thing went wrong, for programs and for exit codes.
type Class string

// The classes.
const (
	Other         Class = "other"
	Source        Class = "source"         // missing, not readable, or changed while it was read
	Unreachable   Class = "unreachable"    // the host does not answer, or died
	Integrity     Class = "integrity"      // bytes that do not fit their hash
	Authorization Class = "authentication" // a certificate, a role or a signature is not right
	Preflight     Class = "preflight"      // space, permission, versions, something else is there
	Late          Class = "late"           // deadline, stall
	Interrupted   Class = "interrupted"
)

// Trouble is what went wrong at a host.
type Trouble struct {
	Class Class  `json:"class"`
	Cause string `json:"cause,omitempty"` // the same at all hosts where the same is wrong; Text also says what differs
	Text  string `json:"text"`
}

func (t *Trouble) Error() string { return t.Text }

// Answer is what an agent answers to every call: the answer itself, or what went wrong.
type Answer[T any] struct {
	OK    *T       `json:"ok,omitempty"`
	Error *Trouble `json:"error,omitempty"`
}
