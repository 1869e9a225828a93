package soft

// The steps of a visit to a neighbour at which the environment can have the process stop itself:
// WEFT_PAUSE=<step>[:<count>], at the count-th time that the step is reached. Signals from outside never come just then.
const (
	pauseEntered  = "entered"  // inside, nothing asked yet
	pauseAdmitted = "admitted" // everything allowed, nothing done yet
	pauseHalfway  = "halfway"  // half of the bytes are written
	pauseTaken    = "taken"    // a receive is taken
	pauseNamed    = "named"    // a piece of the receive is written down at the gate
	pauseReported = "reported" // the message is reported to its receiver
	pauseWritten  = "written"  // all is done, but still inside
)

// pause stops at a step of a visit to a neighbour, in a build for tests.
func (v *visit) pause(step string) { v.peer.pause(step) }

// pause is the same at the peer.
func (l *life) pause(step string) {
	if pausing && l.neighbour != nil {
		pause(step)
	}
}

// writeHalf writes the first half of what a visit is going to write, and stops.
func (v *visit) writeHalf(dst []byte) {
	var src pieces
	v.open(&src)
	src.readInto(dst[:len(dst)/2])
	v.pause(pauseHalfway)
}
