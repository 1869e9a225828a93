package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
)

// The block of lines on a terminal: words at the left, and what there is to say of them.
const (
	labelWidth   = 11
	maxBarWidth  = 60
	usualColumns = 80 // of a terminal that does not say how wide it is
)

// phaseWords are what is under way, for people; where a phase has no other, its name does.
var phaseWords = map[string]string{
	"scan": "reading", "connect": "connecting", "manifest": "file list", "examine": "comparing", "hash": "hashing", "send": "sending",
	"stragglers": "slow hosts", "commit": "finishing", "differ": "differences",
}

func phaseWord(phase string) string {
	if word, ok := phaseWords[phase]; ok {
		return word
	}
	return phase
}

// block is how far the push is, in a few lines of at most so many columns; 0: nobody knows how many there are.
func (s *pushState) block(gone time.Duration, columns int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns = cmp.Or(columns, usualColumns)
	lines := []string{s.barLine(gone, columns)}
	if parts := s.parts(); len(parts) > 0 {
		lines = append(lines, labelled("", parts, columns))
	}
	lines = append(lines, labelled("hosts", s.hostParts(), columns))
	if slow := s.slowest(); len(slow) > 0 {
		lines = append(lines, labelled("slowest", slow, columns))
	}
	return strings.Join(lines, "\n")
}

// line is the same in one line, for whoever reads it later.
func (s *pushState) line(gone time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := append([]string{s.share()}, s.parts()...)
	text := strings.Join(present(append(parts, gone.String())), ", ")
	return fmt.Sprintf("%s: %s; of %s %s", phaseWord(s.phase), text, counted(len(s.hosts), "host"), strings.Join(s.hostParts(), ", "))
}

// barLine shows how much of the phase is done, if that is known, and otherwise for how long it has lasted.
func (s *pushState) barLine(gone time.Duration, columns int) string {
	label := fmt.Sprintf("%-*s", labelWidth, phaseWord(s.phase))
	if s.now == nil || s.now.Total == 0 {
		return labelled(phaseWord(s.phase), []string{s.share(), gone.String()}, columns)
	}
	share := min(float64(s.now.Done)/float64(s.now.Total), 1)
	room := max(0, min(columns-labelWidth-len("[] 100 %")-1, maxBarWidth))
	return fmt.Sprintf("%s[%s] %3.0f %%", label, wideBar(share, room), 100*share)
}

// share is how much is done, in words.
func (s *pushState) share() string {
	switch {
	case s.now != nil && s.now.Total > 0:
		return fmt.Sprintf("%.0f %%", 100*min(float64(s.now.Done)/float64(s.now.Total), 1))
	case s.phase == "scan" && s.files > 0:
		return fmt.Sprintf("%s, %s", counted(int(s.files), "file"), units.Bytes(s.bytes))
	}
	return ""
}

// standstill is the rate below which nothing moves, in bytes a second: what is told halves with each look.
const standstill = 1000

// parts are what numbers say of the phase.
func (s *pushState) parts() (parts []string) {
	p := s.now
	if p == nil || p.Total == 0 {
		return nil
	}
	parts = append(parts, units.Bytes(p.Done)+" of "+units.Bytes(p.Total))
	if p.Rate > 0 && p.Rate < standstill {
		return append(parts, "nothing moves")
	}
	if p.Rate > 0 {
		parts = append(parts, bytesPerSecond(p.Rate)+" each") // what is done is of all hosts together
	}
	if p.Remaining > 0 {
		parts = append(parts, p.Remaining.Round(time.Second).String()+" left")
	}
	if p.Efficiency > 0 {
		parts = append(parts, fmt.Sprintf("efficiency %.0f %%", 100*p.Efficiency))
	}
	return parts
}

// hostParts are how many hosts do what.
func (s *pushState) hostParts() (parts []string) {
	n := s.count()
	for _, state := range hostStates {
		if n[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[state], state))
		}
	}
	return parts
}

// slowest are the hosts that the others may come to wait for.
func (s *pushState) slowest() (parts []string) {
	if s.now == nil {
		return nil
	}
	for _, h := range s.now.Slowest {
		if h.Done > 0 && h.Rate > 0 { // before that nobody is slow
			parts = append(parts, slowHost(h))
		}
	}
	return parts
}

func slowHost(h push.HostRate) string {
	text := h.Host + " " + bytesPerSecond(h.Rate)
	if h.Why != "" {
		text += " (" + h.Why + ")"
	}
	return shown(text)
}

// labelled is a line of parts behind a word. Parts that do not fit are left out as a whole.
func labelled(label string, parts []string, columns int) string {
	line, between := fmt.Sprintf("%-*s", labelWidth, label), ""
	for _, part := range present(parts) {
		next := line + between + part
		if between != "" && utf8.RuneCountInString(next) >= columns {
			break
		}
		line, between = next, ", "
	}
	return line
}

// present are the parts that say something.
func present(parts []string) []string {
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}
