package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

// halfWay are the events of a push of four hosts, one of which has failed, and one is slow.
func halfWay() []push.Event {
	return []push.Event{
		{Kind: push.EventPhase, Phase: "scan"},
		{Kind: push.EventScan, Files: 3, Bytes: 2_560_000_000},
		{Kind: push.EventConnected, Host: "node1"},
		{Kind: push.EventConnected, Host: "node2"},
		{Kind: push.EventConnected, Host: "node3"},
		{Kind: push.EventHostFailed, Host: "node4", Class: control.Unreachable, Text: "connection refused"},
		{Kind: push.EventPhase, Phase: "send"},
		{Kind: push.EventDemoted, Host: "node3", Text: "its link is slow"},
		{Kind: push.EventProgress, Progress: &push.Progress{Phase: "send", Done: 3_600_000_000, Total: 7_680_000_000, Rate: 430e6,
			Remaining: 3200 * time.Millisecond, Efficiency: 0.921, Slowest: []push.HostRate{{Host: "node3", Done: 1, Rate: 210e6, Why: "disk"}, {Host: "node1", Done: 2, Rate: 380e6}, {Host: "node5"}}}},
		{Kind: push.EventHostDone, Host: "node2"},
	}
}

func stateOf(events ...push.Event) *pushState {
	s := newPushState([]string{"node1", "node2", "node3", "node4", "node5"})
	for _, e := range events {
		s.take(e)
	}
	return s
}

func TestPushBlock(t *testing.T) {
	const want = `
sending    [============================                                ]  47 %
           3.60 GB of 7.68 GB, 430 MB/s each, 3s left, efficiency 92 %
hosts      1 receiving, 1 complete, 1 not connected, 1 slow, 1 failed
slowest    node3 210 MB/s (disk), node1 380 MB/s`
	if got := "\n" + stateOf(halfWay()...).block(9*time.Second, 120); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	const narrow = `
sending    [========          ]  47 %
           3.60 GB of 7.68 GB
hosts      1 receiving, 1 complete
slowest    node3 210 MB/s (disk)`
	if got := "\n" + stateOf(halfWay()...).block(9*time.Second, 38); got != narrow {
		t.Errorf("%s\nwant %s", got, narrow)
	}
	if got, usual := stateOf(halfWay()...).block(9*time.Second, 0), stateOf(halfWay()...).block(9*time.Second, 80); got != usual || !strings.Contains(got, "efficiency 92 %") {
		t.Errorf("in a terminal of unknown width:\n%s", got)
	}
	still := push.Event{Kind: push.EventProgress, Progress: &push.Progress{Phase: "send", Done: 1e9, Total: 2e9, Rate: 0.1, Remaining: 8760 * time.Hour}}
	if got := stateOf(append(halfWay(), still)...).block(0, 80); !strings.Contains(got, "2.00 GB, nothing moves\n") {
		t.Error(got)
	}
	if got := stateOf(halfWay()[:2]...).block(9*time.Second, 80); got != "reading    3 files, 2.56 GB, 9s\nhosts      5 not connected" {
		t.Error(got)
	}
}

// However narrow the terminal is, no line is wider.
func TestPushBlockIsNeverTooWide(t *testing.T) {
	state := stateOf(halfWay()...)
	for columns := 1; columns < 200; columns++ {
		var out bytes.Buffer
		p := &progress{out: &out, terminal: true}
		p.draw(strings.Split(state.block(0, columns), "\n"), columns, "")
		for _, line := range p.drawn {
			if n := utf8.RuneCountInString(line); n >= columns && n > 0 {
				t.Errorf("%d columns in a terminal of %d: %q", n, columns, line)
			}
		}
	}
}

// A narrow terminal would break lines within words. Commands to be copied are left whole, and so is what has no spaces.
func TestLinesInColumns(t *testing.T) {
	const hash = "root hash  0123456789012345678901234567890123456789"
	lines := []string{row("held up by", "%s", "the hosts' processors: blocks are fast on the wire (1.18 GB/s), and wait before it"), "node1: größer",
		"  weft push tree . -w 'node[40-42]' --force", "a table\nof two lines, which are as wide as they are", hash}
	const want = `
held up by the hosts' processors: blocks
           are fast on the wire (1.18
           GB/s), and wait before it
node1: größer
  weft push tree . -w 'node[40-42]' --force
a table
of two lines, which are as wide as they are
` + hash
	if got := "\n" + strings.Join(inColumns(lines, 40), "\n"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for columns := range 200 {
		words := strings.Fields(strings.Join(inColumns(lines, columns), "\n"))
		if before := strings.Fields(strings.Join(lines, "\n")); !slices.Equal(words, before) {
			t.Errorf("in %d columns: %q", columns, words)
		}
	}
	plan := &push.Plan{Encrypted: "data over TCP and control are encrypted; data between processes of one host is not"}
	for _, line := range planLines(plan, 40) {
		if utf8.RuneCountInString(line) > 40 {
			t.Errorf("too wide: %q", line)
		}
	}
	if lines := planLines(plan, 1); len(lines) < 3 {
		t.Errorf("%q", lines)
	}
}

func TestPushLine(t *testing.T) {
	const want = "sending: 47 %, 3.60 GB of 7.68 GB, 430 MB/s each, 3s left, efficiency 92 %, 9s; of 5 hosts 1 receiving, 1 complete, 1 not connected, 1 slow, 1 failed"
	if got := stateOf(halfWay()...).line(9 * time.Second); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := stateOf().line(0); got != "reading: 0s; of 5 hosts 5 not connected" {
		t.Error(got)
	}
}

func TestPushStatus(t *testing.T) {
	events := append(halfWay(), push.Event{Kind: push.EventHostFailed, Host: "node5", Text: "connection refused"})
	const want = `node1: receiving
node2: complete
node3: slow: its link is slow
node[4-5]: failed: connection refused`
	if got := strings.Join(stateOf(events...).status(), "\n"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Lines are written over in one go; in a terminal that was made narrower the old ones take more rows.
func TestProgressDraws(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, terminal: true}
	p.draw([]string{"one", "two", "three"}, 80, "")
	p.draw([]string{"four"}, 80, "")
	p.say("news")
	p.draw(nil, 80, "")
	if got, want := out.String(), "\rone\x1b[K\ntwo\x1b[K\nthree\x1b[K\x1b[J"+"\r\x1b[2Afour\x1b[K\x1b[J"+"\rnews\x1b[K\nfour\x1b[K\x1b[J"+"\r\x1b[J"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := toTop([]string{"0123456789", "012345", "0"}, 5); got != "\r\x1b[4A" {
		t.Errorf("%q", got)
	}
}

// What happens is said at once where nobody sees the block of lines; hosts cannot play tricks on a terminal.
func TestPushNews(t *testing.T) {
	var out, errs bytes.Buffer
	s := newPushShow(&out, &errs, false, false, false, []string{"node1"})
	for _, e := range halfWay() {
		s.event(e)
	}
	s.event(push.Event{Kind: push.EventHostFailed, Host: "node9", Text: "gone\x1b[2J"})
	const want = `reading
node4: connection refused
sending
node3 is slow, and is served last: its link is slow
node9: gone [2J
`
	if errs.String() != want || out.Len() > 0 {
		t.Errorf("%s\nwant %s", &errs, want)
	}
	if s.colour = true; s.painted(red, "x") != "\x1b[31mx\x1b[m" {
		t.Error("no colour")
	}
}

// Of a thousand hosts that fail, twenty are named at once.
func TestPushNewsAreNotEndless(t *testing.T) {
	var errs bytes.Buffer
	s := newPushShow(&bytes.Buffer{}, &errs, false, false, false, nil)
	for i := range 1000 {
		if owes := i > maxToldFailures; s.owesReport() != owes {
			t.Fatalf("after %d hosts that failed a report is owed: %v", i, !owes)
		}
		s.event(push.Event{Kind: push.EventHostFailed, Host: fmt.Sprint("node", i), Text: "no route"})
	}
	if n := strings.Count(errs.String(), "\n"); n != maxToldFailures || !strings.HasSuffix(errs.String(), "the report will tell\n") {
		t.Errorf("%d lines: %s", n, &errs)
	}
}

func TestPushIsQuiet(t *testing.T) {
	var out, errs bytes.Buffer
	s := newPushShow(&out, &errs, false, true, false, nil)
	for _, e := range halfWay() {
		s.event(e)
	}
	if out.Len()+errs.Len() > 0 {
		t.Errorf("%s%s", &out, &errs)
	}
}

func TestPushEventsAsJSON(t *testing.T) {
	var out, errs bytes.Buffer
	s := newPushShow(&out, &errs, true, false, false, nil)
	events := append(halfWay(), push.Event{Kind: push.EventReport, Report: &push.Report{Exit: push.ExitPartial}})
	for _, e := range events {
		s.event(e)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(events) || errs.Len() > 0 {
		t.Fatalf("%d lines for %d events; %s", len(lines), len(events), &errs)
	}
	for i, line := range lines {
		var e push.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind != events[i].Kind {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// The first Ctrl-C is a question, also the first one after a while; a second one within a second is not.
func TestPushInterrupts(t *testing.T) {
	var errs bytes.Buffer
	s := newPushShow(&bytes.Buffer{}, &errs, false, false, false, []string{"node1"})
	take := s.interrupts()
	if !take() || !strings.Contains(errs.String(), "node1: not connected\n") || !strings.Contains(errs.String(), "Ctrl-C again within a second stops it\n") {
		t.Errorf("%s", &errs)
	}
	if take() {
		t.Error("the second did not stop it")
	}
}

// However many were asked: one that comes a second after the last is a question again, and one that comes sooner the end.
func TestPushInterruptsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		take := newPushShow(&bytes.Buffer{}, &errs, false, false, false, []string{"node1"}).interrupts()
		for asked := range 3 {
			if !take() || strings.Count(errs.String(), "Ctrl-C again within a second stops it\n") != asked+1 {
				t.Errorf("question %d was not taken for one: %s", asked+1, &errs)
			}
			time.Sleep(secondInterrupt)
		}
		take()
		time.Sleep(secondInterrupt - time.Nanosecond)
		if take() {
			t.Error("the second within a second did not stop it")
		}
	})
}

// Where there is no terminal, a line every ten seconds says how far it is.
func TestPushLinesNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		s := newPushShow(&bytes.Buffer{}, &errs, false, false, false, []string{"node1"})
		s.event(push.Event{Kind: push.EventPhase, Phase: "send"})
		s.progress.start()
		time.Sleep(35 * time.Second)
		s.progress.stop()
		const want = `sending
sending: 10s; of 1 host 1 not connected
sending: 20s; of 1 host 1 not connected
sending: 30s; of 1 host 1 not connected
`
		if errs.String() != want {
			t.Errorf("%s\nwant %s", &errs, want)
		}
	})
}
