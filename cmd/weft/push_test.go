package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

func TestPushBadInput(t *testing.T) {
	for _, c := range []badInput{
		{"push", 2, "to which hosts? Say -w HOSTS, or --local N to try it here"},
		{"push a -w node1", 2, "push takes what there is here, and where it belongs: SRC... DEST; see 'weft push --help'"},
		{"push a ../b -w node1", 2, "a destination has no part that is .."},
		{"push a b -w node[1-", 2, "-w: "},
		{"push a b -w ^/no/such/file", 2, "/no/such/file"},
		{"push a b -w node1 -x node1", 2, "-w: no host is left"},
		{"push a b -w node1 --local 2", 2, "--local starts its own hosts: leave it out, or -w"},
		{"push --local 0", 2, "--local 0: 1 to 64 agents"},
		{"push --local 65", 2, "1 to 64 agents"},
		{"push a b -w node1 --keep", 2, "--keep is for --local"},
		{"push a b -w node1 --failed-hosts /no/such/file", 2, "--failed-hosts /no/such/file: there is no such directory"},
		{"push a b -w node1 --failed-hosts /tmp", 2, "--failed-hosts /tmp: "},
		{"push a b -w node1 -x node1:7470", 2, "-w: no host is left"},
		{"push a b -w node1 --block 1KiB", 2, "write auto, or a size from 16 KiB to 4 MiB"},
		{"push a b -w node1 --block much", 2, "write auto, or a size"},
		{"push a b -w node1 --bwlimit fast", 2, "write what goes in a second, as 100MB or 800mbit"},
		{"push a b -w node1 --bwlimit 1", 2, "16 KiB a second is the least"},
		{"push a b -w node1 --rate 5", 2, "--rate: "},
		{"push a b -w node1 --provider carrier-pigeon", 2, "there are auto, ibv, shm, tcp"},
		{"push a b -w node1 --provider inproc", 2, "there are auto, ibv, shm, tcp"},
		{"push a b -w node1 --fanout 0", 2, "--fanout 0: at least one"},
		{"push a b -w node1 --port 0", 2, "--port 0: there are ports 1 to 65535"},
		{"push a b -w node1 --stall-timeout 0s", 2, "weft: --stall-timeout 0s: write a time above zero, as 10s or 5m"},
		{"push a b -w node1 --connect-timeout -1s", 2, "weft: --connect-timeout -1s: write"},
		{"push a b -w node1 --deadline -5s", 2, "weft: --deadline -5s: write a time above zero"},
		{"push a b -w node1 --deadline 0s", 2, "--deadline: 0 makes no sense: leave it out, and there is none"},
		{"push a b -w node1 --keys /no/such.pem", 7, "--keys: "},
		{"push a b -w node1 --nonsense", 2, "unknown flag: --nonsense"},
		{"verify a -w node1", 2, "verify takes what there is here"},
		{"verify a b", 2, "to which hosts? Say -w HOSTS; see 'weft verify --help'"},
		{"verify a b --local 2", 2, "unknown flag: --local"},
		{"explain a b", 2, "to which hosts?"},
		{"explain --last a", 2, "--last takes no SRC"},
		{"explain --last", 1, "there was no push yet that could be explained"},
	} {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		c.check(t)
	}
}

// Only who has the role may push, and that is said before anything else happens.
func TestPushNeedsTheRole(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	keysJSON(t, "make", dir, "node1", "--push")
	badInput{"push a b -w node1 --keys " + keyPath(dir, "node1"), push.ExitAuth, `the role of node1 is "agent", and only a "pusher" may push`}.check(t)
	badInput{"push a b -w node1", exitUsage, "who pushes? Say --keys pusher.pem"}.check(t)
}

func TestKeysForPush(t *testing.T) {
	dir := t.TempDir()
	made := keysJSON(t, "make", dir, "node[1-2]", "db", "--push")
	want := []struct{ name, role, services string }{{"", "", ""}, {"node1", "agent", "agent/node1"}, {"node2", "agent", "agent/node2"}, {"db", "agent", "agent/db"}, {"pusher", "pusher", ""}}
	if len(made) != len(want) {
		t.Fatalf("%+v", made)
	}
	for i, w := range want {
		if m := made[i]; m.Name != w.name || m.Role != w.role || strings.Join(m.Services, " ") != w.services {
			t.Errorf("%+v, want %+v", m, w)
		}
	}
	for _, c := range []badInput{
		{"keys make " + dir + " pusher --push", 2, `a host cannot be called "pusher"`},
		{"keys make " + dir + " node1 --push --role x", 2, "leave out --role and --service"},
	} {
		c.check(t)
	}
}

// settingsOf are the settings of a command line.
func settingsOf(t *testing.T, line string) *pushSettings {
	t.Helper()
	o := &pushOptions{}
	cmd := newPushWith(o)
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	s, err := o.settings(cmd, cmd.Flags().Args())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPushSettings(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("node1\nnode2:7000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := settingsOf(t, "a b /to/ --hosts-file "+hosts+" -x node9 -f -p -n --bwlimit 8mbit --rate 1gbit -s 64KiB --port 7001 --algorithm chain --deadline 1m --connect-timeout 3s --stall-timeout 5s")
	c := s.config
	if len(c.Hosts) != 2 || strings.Join(s.names, " ") != "node1 node2:7000" {
		t.Fatalf("%+v, %q", c.Hosts, s.names)
	}
	for i, want := range []string{"node1:7001 agent/node1", "node2:7000 agent/node2"} {
		if address, service, err := c.Reach.Reach(t.Context(), c.Hosts[i]); address+" "+service != want || err != nil {
			t.Errorf("%s %s, %v; want %s", address, service, err, want)
		}
	}
	if strings.Join(c.Sources, " ") != "a b" || c.Dest != "/to/" || !c.Force || !c.Preserve || !c.DryRun || c.Checksum || c.Plain {
		t.Errorf("%+v", c)
	}
	if c.Rate != 1e6 || c.LinkRate != 1e9 || c.Block != 64<<10 || c.Algorithm != "chain" || c.Deadline != time.Minute || c.ConnectTimeout != 3*time.Second || c.StallTimeout != 5*time.Second || c.Fan != 32 {
		t.Errorf("%+v", c)
	}
}

// The environment has what the command line leaves out, and never what it says.
func TestPushSettingsFromTheEnvironment(t *testing.T) {
	t.Setenv("PUSH_BWLIMIT", "1MB")
	t.Setenv("WEFT_BLOCK", "32KiB")
	t.Setenv("PUSH_BLOCK", "64KiB")
	t.Setenv("PUSH_FANOUT", "7")
	t.Setenv("WEFT_HOSTS", "node[1-3]")
	s := settingsOf(t, "a b --bwlimit 2MB")
	if s.config.Rate != 2e6 || s.config.Block != 64<<10 || s.config.Fan != 7 || len(s.names) != 3 {
		t.Errorf("%+v", s.config)
	}
	t.Setenv("PUSH_EXCLUDE", "node1")
	if s := settingsOf(t, "a --local 2"); s.local != 2 || len(s.names) != 2 {
		t.Errorf("%d, %q", s.local, s.names)
	}
	t.Setenv("PUSH_LOCAL", "2")
	if s := settingsOf(t, "a b -w node[1-4]"); s.local != 0 || len(s.names) != 3 {
		t.Errorf("%d, %q", s.local, s.names)
	}
	t.Setenv("PUSH_FANOUT", "many")
	badInput{"push a b", exitUsage, "PUSH_FANOUT=many: "}.check(t)
}

// What failed can be said again, whatever its words are made of.
func TestPushAgain(t *testing.T) {
	t.Setenv("PUSH_PRESERVE", "true")
	s := settingsOf(t, "it's b -w node[1-3] -f --bwlimit 1MB --keys k1,k2")
	if want := `push 'it'\''s' b --bwlimit 1MB --force --keys k1,k2 --preserve`; s.again != want {
		t.Errorf("%s, want %s", s.again, want)
	}
	s = settingsOf(t, "-w node[1-3] --racks [a-z]+([0-9]) --force=false --keys k[1] --expect sha256:"+strings.Repeat("0", 64)+" -- -a -b")
	want := "push ./-a ./-b --expect sha256:" + strings.Repeat("0", 64) + " --force=false --keys 'k[1]' --preserve --racks '[a-z]+([0-9])'"
	if s.again != want {
		t.Fatalf("%s, want %s", s.again, want)
	}
	o := &pushOptions{} // a shell would take the quotes away
	again := newPushWith(o)
	if err := again.ParseFlags(strings.Fields(strings.ReplaceAll(s.again+" -w node2", "'", ""))[1:]); err != nil || o.force || o.racks != "[a-z]+([0-9])" || len(again.Flags().Args()) != 2 {
		t.Errorf("%v, %+v, %q", err, o, again.Flags().Args())
	}
}

// someFailed is a report in which three hosts of five have failed.
func someFailed() *push.Report {
	return &push.Report{Exit: push.ExitPartial, Root: "9f3c", Files: 3, Bytes: 2_560_000_000, Elapsed: 6210 * time.Millisecond, Sending: 5950 * time.Millisecond,
		Rate: 430e6, Bound: 5600 * time.Millisecond, Efficiency: 0.941, Bottleneck: "node1 → node2: 210 MB/s", Repairs: 1, CrossBytes: 4e9,
		Plan: &push.Plan{Encrypted: "data and control are encrypted", Hosts: 5, Files: 3, Bytes: 2_560_000_000, Block: 64 << 10, Algorithm: "pipeline", Way: "tcp",
			Stripes: 2, Steps: 9, Rate: 480e6, Bound: 5600 * time.Millisecond, Predicted: 5700 * time.Millisecond},
		Hosts: []push.HostReport{
			{Host: "node1", Outcome: push.OutcomeVerified, Written: 3, Received: 1_200_000_000},
			{Host: "node2", Outcome: push.OutcomeVerified, Written: 1, Skipped: 2, Demoted: true},
			{Host: "node40", Outcome: push.OutcomeFailed, Class: control.Preflight, Cause: "not enough space", Text: "3 GB needed, 2 free"},
			{Host: "node41", Outcome: push.OutcomeFailed, Class: control.Preflight, Cause: "not enough space", Text: "3 GB needed, 1 free"},
			{Host: "node42", Outcome: push.OutcomeFailed, Class: control.Unreachable, Text: "no route to host"},
		},
		Hops: []push.HopReport{{From: "pusher", To: "node1", Bytes: 2_560_000_000, Rate: 450e6}, {From: "node1", To: "node2", Bytes: 2_000_000_000, Rate: 210e6}}}
}

func TestPushReport(t *testing.T) {
	s := settingsOf(t, "tree /srv -w node[1-2],node[40-42]")
	const want = `2 of 5 hosts have it, verified: 3 files, 2.56 GB
time       6.21 s, of which sending 5.95 s: 430 MB/s to each host
at best    5.60 s: efficiency 94.1 %
held up by node1 → node2: 210 MB/s
sent       at most 1.20 GB to a host: the rest was there already
in place   node1: none of 3 files and links was there already
           node2: 2 of 3 files and links were there already
repairs    1 time: the others went on without hosts that failed or were slow
slow       node2: served after the others
racks      4.00 GB went from one rack to another
root hash  9f3c

node[40-41]: not enough space; at node40: 3 GB needed, 2 free
node42: no route to host

when that is mended, this sends them what they lack:
  push tree /srv -w 'node[40-42]'`
	if got := strings.Join(s.reportLines(someFailed()), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// What a report says of a push that nobody got to the end, and of one that everybody did though connections broke.
func TestPushReportIsTrue(t *testing.T) {
	s, r := settingsOf(t, "tree /srv -w node[1-2],node[40-42]"), someFailed()
	for i := range r.Hosts {
		r.Hosts[i].Outcome, r.Hosts[i].Demoted = push.OutcomeFailed, false
	}
	if text := strings.Join(s.reportLines(r), "\n"); strings.Contains(text, "was there already") {
		t.Error(text)
	}
	for i := range r.Hosts {
		r.Hosts[i].Outcome = push.OutcomeVerified
	}
	if text := strings.Join(s.reportLines(r), "\n"); !strings.Contains(text, "1 time: connections broke, and all went on") {
		t.Error(text)
	}
}

// What was there already is counted with links, and says so; of few it is told as people do.
func TestFileWords(t *testing.T) {
	for _, c := range []struct {
		written, skipped uint64
		want             string
	}{
		{0, 15, "the 15 files and links were there already"}, {0, 2, "the 2 files and links were there already"}, {0, 1, "it was there already"},
		{1, 0, "it is new"}, {2, 1, "1 of 3 files and links was there already"}, {1, 2, "2 of 3 files and links were there already"},
		{2, 0, "none of 2 files and links was there already"},
	} {
		if got := fileWords(push.HostReport{Written: c.written, Skipped: c.skipped}); got != c.want {
			t.Errorf("%d written, %d there: %s, want %s", c.written, c.skipped, got, c.want)
		}
	}
}

// Of one host, and of two, nobody says "each", or "all".
func TestPushReportOfFewHosts(t *testing.T) {
	r := someFailed()
	r.Hosts = r.Hosts[:1]
	one := strings.Join(resultLines(r), "\n")
	r.Hosts = append(r.Hosts, push.HostReport{Host: "node2", Outcome: push.OutcomeVerified, Written: 3, Skipped: 0})
	two := strings.Join(resultLines(r), "\n")
	if !strings.HasPrefix(one, "the host has it, verified") || !strings.Contains(one, "430 MB/s to the host\n") {
		t.Error(one)
	}
	if !strings.HasPrefix(two, "both hosts have it, verified") || !strings.Contains(two, "430 MB/s to each host\n") {
		t.Error(two)
	}
}

// What is told of each host is true of each: of one that failed nobody knows it.
func TestWhatIsInPlaceAtEachHost(t *testing.T) {
	r := someFailed()
	r.Hosts = r.Hosts[1:]
	if got := strings.Join(fileLines(r), "\n"); got != "in place   node2: 2 of 3 files and links were there already" {
		t.Error(got)
	}
	r.Hosts = append(r.Hosts[:1:1], r.Hosts[0])
	if got := strings.Join(fileLines(r), "\n"); got != "in place   at each host 2 of 3 files and links were there already" {
		t.Error(got)
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"a/b_c.d": "a/b_c.d", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "größe": "'größe'", "\x1b[31m'\\": `$'\x1b[31m\'\\'`, "\xff": `$'\xff'`,
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// What comes of a report: an exit status, a word for programs, a list of hosts.
func TestPushFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "failed")
	s := settingsOf(t, "tree /srv -w node[1-2],node[40-42] -q --failed-hosts "+file)
	r := someFailed()
	f := failureOf(context.Background(), s.failure(context.Background(), r))
	if f.status != push.ExitPartial || f.Kind != "partial" || f.Error != "3 of 5 hosts failed: node[40-41]: not enough space; at node40: 3 GB needed, 2 free; node42: no route to host" {
		t.Errorf("%+v", f)
	}
	failed := func(r *push.Report) string {
		if err := s.writeFailed(r); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(file)
		return string(text)
	}
	if got := failed(r); got != "node40\nnode41\nnode42\n" {
		t.Errorf("%q", got)
	}
	if got := s.missing(r); got != "-w '^"+file+"'" {
		t.Error(got)
	}
	r.Hosts, r.Exit = r.Hosts[:2], push.ExitOK
	if got := failed(r); got != "" || s.failure(context.Background(), r) != nil {
		t.Errorf("%q", got)
	}
	if got := failed(nil); strings.Count(got, "\n") != 5 {
		t.Errorf("nothing was pushed, and these have failed: %q", got)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
}

// A dry run has pushed nothing, whoever could take it: its hosts are ready, and none of them has failed or has it.
func TestPushDryReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "failed")
	s := settingsOf(t, "tree /srv -w node[1-3] -n --failed-hosts "+file)
	r := &push.Report{Exit: push.ExitPartial, Plan: &push.Plan{}, Hosts: []push.HostReport{{Host: "node1", Outcome: push.OutcomeReady},
		{Host: "node2", Outcome: push.OutcomeReady}, {Host: "node3", Outcome: push.OutcomeFailed, Text: "no route to host"}}}
	const want = `node3: no route to host

2 of 3 hosts could take it; nothing was changed
files that are there already were not compared: those that are different need -f
who sends which block to whom: weft explain`
	if got := strings.Join(s.reportLines(r), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := s.reportLines(&push.Report{Hosts: r.Hosts[2:]}); got[len(got)-1] != "0 of 1 host could take it; nothing was changed" {
		t.Errorf("there is nothing to explain: %q", got)
	}
	if err := s.failure(context.Background(), r); err == nil || err.Error() != "1 of 3 hosts failed" || verified(r) != 0 {
		t.Errorf("%v, and %d have it", err, verified(r))
	}
	err := s.writeFailed(r)
	if text, _ := os.ReadFile(file); err != nil || string(text) != "node3\n" {
		t.Errorf("%v, %q", err, text)
	}
}

// Who stops it hears how to go on.
func TestPushStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := someFailed()
	r.Exit = push.ExitInterrupted
	f := failureOf(ctx, (&pushSettings{}).failure(ctx, r))
	if f.status != push.ExitInterrupted || f.Kind != "interrupted" || f.Error != "interrupted: 2 of 5 hosts have it; the same command resumes it" {
		t.Errorf("%+v", f)
	}
}

// Who was promised a report gets it, also of a push that has ended as a whole, and that nobody has.
func TestPushKeepsItsPromise(t *testing.T) {
	s := settingsOf(t, "tree /srv -w node[1-30]")
	show := s.newShow()
	show.errs, show.progress.out = io.Discard, io.Discard
	late := &push.Report{Exit: push.ExitLate, Error: "the deadline is over"}
	if s.tells(show, late) {
		t.Error("the error has said it already")
	}
	for _, name := range s.names {
		show.event(push.Event{Kind: push.EventHostFailed, Host: name, Text: "no route"})
		late.Hosts = append(late.Hosts, push.HostReport{Host: name, Outcome: push.OutcomeFailed, Text: "no route"})
	}
	if lines := strings.Join(s.reportLines(late), "\n"); !s.tells(show, late) || !strings.Contains(lines, "node[1-30]: no route\n") {
		t.Errorf("nobody hears of %s", lines)
	}
	if s.mute = true; s.tells(show, late) {
		t.Error("with -q a report is shown")
	}
}

func TestExplainLast(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	s := settingsOf(t, "tree /srv -w node[1-5]")
	s.remember(someFailed())
	status, out, errs := weft("explain", "--last")
	if status != 0 || errs != "" {
		t.Fatalf("%d, %s", status, errs)
	}
	for _, want := range []string{"push tree /srv -w 'node[1-5]'\n", "pipeline over tcp, blocks of 64 KiB in 2 stripes, 9 steps\n", "at best 5.60 s at 480 MB/s, expected 5.70 s\n",
		"held up by node1 → node2", "node[40-41]: not enough space; at node40: 3 GB needed, 2 free\n", "  node1 → node2       2.00 GB           210 MB/s\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Index(out, "node1 → node2  ") > strings.Index(out, "pusher → node1  ") {
		t.Errorf("the slowest hop is not the first:\n%s", out)
	}
	if strings.Contains(out, "ended by") {
		t.Errorf("nothing has ended it:\n%s", out)
	}
	if status, _, errs := weft("explain", "m.bin", "--last"); status != exitUsage || !strings.Contains(errs, "--last takes no SRC") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, out, errs := weft("explain", "--last", "-q"); status != 0 || out+errs != "" {
		t.Errorf("-q: status %d, %s%s", status, out, errs)
	}
	_, out, _ = weft("explain", "--last", "--json")
	var last lastPush
	if err := json.Unmarshal([]byte(out), &last); err != nil || last.Report.Exit != push.ExitPartial {
		t.Errorf("%v: %s", err, out)
	}
}

// What ended a push as a whole is the first that who asks for an explanation wants to know.
func TestExplainLastThatEndedEarly(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := someFailed()
	r.Error = "the deadline is over: 10m0s"
	settingsOf(t, "tree /srv -w node[1-5]").remember(r)
	if status, out, _ := weft("explain", "--last"); status != 0 || !strings.Contains(out, "\nended by   the deadline is over: 10m0s\n") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// Sources of one name are a mistake in the command line.
func TestPushSourcesOfOneName(t *testing.T) {
	dir := t.TempDir()
	keysJSON(t, "make", dir, "127.0.0.1", "--push")
	one, other := filepath.Join(dir, "m.bin"), filepath.Join(t.TempDir(), "m.bin")
	put(t, one, "")
	put(t, other, "")
	status, _, errs := weft("push", one, other, "dest", "-w", "127.0.0.1:1", "--keys", keyPath(dir, "pusher"))
	if status != exitUsage || !strings.Contains(errs, "weft: "+one+" arrives under a name that another source has too") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// A push that never began leaves the last that did to be explained.
func TestPushThatNeverBeganIsForgotten(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	settingsOf(t, "tree /srv -w node[1-5]").remember(someFailed())
	dir := t.TempDir()
	keysJSON(t, "make", dir, "127.0.0.1", "--push")
	if status, _, errs := weft("push", "/no/such", "dest", "-w", "127.0.0.1:1", "--keys", keyPath(dir, "pusher")); status != push.ExitSource {
		t.Errorf("status %d: %s", status, errs)
	}
	if last, err := readLast(); err != nil || last.Report.Root != "9f3c" {
		t.Errorf("what is left to be explained: %+v, %v", last, err)
	}
}

func TestWriteWhole(t *testing.T) {
	if err := writeWhole("/dev/null", []byte("x")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Fatalf("/dev/null is a file now: %v, %v", info, err)
	}
	if err := writeWhole("/no/such/directory/file", nil); err == nil {
		t.Error("nothing is wrong?")
	}
}

func TestHostsInTheirOrder(t *testing.T) {
	for names, want := range map[string]string{"node1 node2 node3": "node[1-3]", "node1 node3 node2": "node1, node3, node2", "b a": "b, a", "x": "x"} {
		if got := inOrder(strings.Fields(names)); got != want {
			t.Errorf("%s: %s", names, got)
		}
	}
}
