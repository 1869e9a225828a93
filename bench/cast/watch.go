package cast

// Watch is told how a job goes. Every field may be nil.
type Watch struct {
	Passed func(why string) // a lane cannot be used by all members; there is another
	Formed func(*Report)    // all members are connected
	Copied func(*Report)    // the plain copy is measured
	// Begin is told that a run begins, counted from 0; the plain copy is run -1. Advance says how many blocks of it are
	// through; any goroutine may call it.
	Begin func(run, runs int, advance func() int)
	Ran   func(*Report, Run) // a run is done, and its contents are right
}

func (w *Watch) passed(why string) {
	if w.Passed != nil {
		w.Passed(why)
	}
}

func (w *Watch) formed(r *Report) {
	if w.Formed != nil {
		w.Formed(r)
	}
}

func (w *Watch) copied(r *Report) {
	if w.Copied != nil {
		w.Copied(r)
	}
}

func (w *Watch) begin(run, runs int, advance func() int) {
	if w.Begin != nil {
		w.Begin(run, runs, advance)
	}
}

func (w *Watch) ran(r *Report, run Run) {
	if w.Ran != nil {
		w.Ran(r, run)
	}
}
