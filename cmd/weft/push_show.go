package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weft-fabric/weft/push"
)

// pushShow shows how a push goes: to people by a block of lines that is written over, or a line now and then; to programs by an event a
// line.
type pushShow struct {
	out, errs     io.Writer
	asJSON        bool
	mute, verbose bool
	planned       bool // the plan is the result: it is not said before
	folded        bool // so are the failures, folded
	colour        bool
	state         *pushState
	progress      *progress
	told          int   // lines about hosts that failed
	err           error // the first failure to print
}

// maxToldFailures is for how many hosts it is said at once that they have failed. The report has all, folded.
const maxToldFailures = 20

func newPushShow(out, errs io.Writer, asJSON, mute, verbose bool, hosts []string) *pushShow {
	s := &pushShow{out: out, errs: errs, asJSON: asJSON, mute: mute, verbose: verbose, state: newPushState(hosts)}
	s.progress = newProgress(errs, mute || asJSON, s.far)
	s.progress.after = progressEvery
	s.colour = s.progress.terminal && os.Getenv("NO_COLOR") == ""
	return s
}

// far says how far it is.
func (s *pushShow) far(gone time.Duration) string {
	if s.progress.terminal {
		return s.state.block(gone, width(s.errs))
	}
	return s.state.line(gone)
}

// event hears what happens, one thing at a time.
func (s *pushShow) event(e push.Event) {
	s.state.take(e)
	if s.asJSON {
		s.progress.hide(func() { s.keep(json.NewEncoder(s.out).Encode(e)) })
	} else if text := s.news(e); text != "" && !s.mute {
		s.progress.say(text)
	}
}

func (s *pushShow) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

// The colours of what should be noticed.
const (
	red    = "31"
	yellow = "33"
)

// news is what is said of an event at once; nothing, if the block of lines says it.
func (s *pushShow) news(e push.Event) string {
	switch {
	case e.Kind == push.EventHostFailed && !s.folded:
		return s.failure(e)
	case e.Kind == push.EventDemoted:
		return s.painted(yellow, e.Host+" is slow, and is served last: "+e.Text)
	case e.Kind == push.EventRepair:
		return s.painted(yellow, e.Text)
	case e.Kind == push.EventPlan && e.Plan != nil && !s.planned:
		return strings.Join(planLines(e.Plan, width(s.errs)), "\n")
	case e.Kind == push.EventPhase && (s.verbose || !s.progress.terminal):
		return phaseWord(e.Phase)
	case e.Kind == push.EventConnected && s.verbose:
		return shown(e.Host + ": connected")
	case e.Kind == push.EventHostDone && s.verbose:
		return shown(e.Host + ": complete")
	}
	return ""
}

// owesReport reports whether more hosts have failed than were named, so that only a report says which.
func (s *pushShow) owesReport() bool { return s.told > maxToldFailures }

func (s *pushShow) failure(e push.Event) string {
	s.told++
	switch {
	case s.told < maxToldFailures:
		return s.painted(red, e.Host+": "+e.Text)
	case s.told == maxToldFailures:
		return s.painted(red, e.Host+": "+e.Text+"; of more hosts that fail, the report will tell")
	}
	return ""
}

// painted is text in a colour, where people like that, without anything that a host has put into it for the terminal.
func (s *pushShow) painted(colour, text string) string {
	if text = strings.Join(inColumns([]string{shown(text)}, width(s.errs)), "\n"); !s.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[m"
}

// status says what every host does.
func (s *pushShow) status() {
	lines := s.state.status()
	if !s.progress.terminal {
		lines = append(lines, s.state.line(time.Since(s.progress.started).Round(time.Second)))
	}
	s.progress.say(strings.Join(append(lines, "Ctrl-C again within a second stops it"), "\n"))
}

// secondInterrupt is within which time a Ctrl-C after another one means the end.
const secondInterrupt = time.Second

// interrupts takes a Ctrl-C for the question how it goes, unless there was another one just before.
func (s *pushShow) interrupts() (take func() bool) {
	var last time.Time
	return func() bool {
		again := !last.IsZero() && time.Since(last) < secondInterrupt
		last = time.Now()
		if !again {
			s.status()
		}
		return !again
	}
}

// Write is for the log, which must not get among the lines.
func (s *pushShow) Write(text []byte) (int, error) {
	s.progress.say(strings.TrimSuffix(string(text), "\n"))
	return len(text), nil
}
