package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func node(n byte) wire.ID { return wire.RandomID([15]byte{n}) }

func named(name string, n byte) find.Record {
	return find.Record{Service: wire.NameID(name), Name: name, Node: node(n), At: []string{"unix:@weft-1"}}
}

// start opens a resolver that renews its lease.
func start(t *testing.T, dir string) *Resolver {
	t.Helper()
	r, err := Open(Config{Dir: dir, Lease: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// still opens a resolver that renews its lease only when it is told to, as if its process were stopped in between.
func still(t *testing.T, dir string, lease time.Duration) *Resolver {
	t.Helper()
	r, err := open(t.Context(), Config{Dir: dir, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// runOut makes a resolver's lease one that has run out.
func runOut(t *testing.T, r *Resolver) {
	t.Helper()
	r.lease.end = now()
	if err := r.lease.write(r.lease.end); err != nil {
		t.Fatal(err)
	}
}

func claimed(t *testing.T, r *Resolver, record find.Record) find.Claim {
	t.Helper()
	c, err := r.Claim(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Record(); c.ValidUntil() <= clock.Real.Now() || c.Err() != nil || got.Epoch == 0 {
		t.Fatalf("%v is valid until %v, %v", &got, c.ValidUntil(), c.Err())
	}
	return c
}

// at returns the nodes that an ID is found at.
func at(t *testing.T, r *Resolver, id wire.ID) map[wire.ID]bool {
	t.Helper()
	records, err := r.Find(t.Context(), id)
	if err != nil && !errors.Is(err, find.ErrNotFound) {
		t.Fatal(err)
	}
	nodes := map[wire.ID]bool{}
	for _, record := range records {
		nodes[record.Node] = true
	}
	return nodes
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestClaimingAgainChangesTheRecord(t *testing.T) {
	a := start(t, filepath.Join(t.TempDir(), "weft"))
	c := claimed(t, a, named("kv", 1))
	epoch := c.Record().Epoch
	moved := named("kv", 1)
	moved.Epoch, moved.At = epoch+5, []string{"host:1"}
	if again := claimed(t, a, moved); again != c || c.Record().Epoch != epoch+5 {
		t.Errorf("epoch %d became %d", epoch, c.Record().Epoch)
	}
	records, err := a.Find(t.Context(), moved.Service)
	if err != nil || !records[0].Equal(&moved) {
		t.Errorf("found %v, %v", records, err)
	}
	c.Withdraw(t.Context())
	if next := claimed(t, a, named("kv", 1)); next == c || next.Record().Epoch <= epoch+5 {
		t.Errorf("epoch %d follows %d", next.Record().Epoch, epoch+5)
	}
}

func TestTheEpochIsAtLeastWhatWasAskedFor(t *testing.T) {
	a := start(t, filepath.Join(t.TempDir(), "weft"))
	high := named("kv", 1)
	high.Epoch = find.MaxEpoch
	if got := claimed(t, a, high).Record().Epoch; got != find.MaxEpoch {
		t.Errorf("epoch %d", got)
	}
	if got := claimed(t, a, named("other", 1)).Record().Epoch; got != find.MaxEpoch+1 {
		t.Errorf("epoch %d, although one was given that was higher", got)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	a := start(t, dir)
	c := claimed(t, a, named("kv", 1))
	a.Close()
	if <-c.Done(); !errors.Is(c.Err(), find.ErrClosed) || c.ValidUntil() > clock.Real.Now() {
		t.Error(c.Err())
	}
	if names := files(t, dir); len(names) != 1 || names[0] != lockFile {
		t.Errorf("left: %v", names)
	}
	_, claimed := a.Claim(t.Context(), named("kv", 1))
	_, found := a.Find(t.Context(), wire.NameID("kv"))
	_, listed := a.List(t.Context())
	for _, err := range []error{claimed, found, listed} {
		if !errors.Is(err, find.ErrClosed) {
			t.Error(err)
		}
	}
}

func TestAStoppedHolderKeepsItsServicesUntilItsLeaseRunsOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	stopped, b := still(t, dir, time.Hour), start(t, dir)
	kv, other := claimed(t, stopped, named("kv", 1)), claimed(t, stopped, named("other", 1))
	if _, err := b.Claim(t.Context(), named("kv", 2)); !errors.Is(err, find.ErrTaken) {
		t.Fatal(err)
	}
	runOut(t, stopped)
	if !at(t, b, wire.NameID("kv"))[node(1)] {
		t.Error("a process that stands still is not found")
	}
	claimed(t, b, named("kv", 2))
	if err := stopped.renew(); err != nil { // it goes on
		t.Fatal(err)
	}
	var superseded *find.SupersededError
	if !errors.As(kv.Err(), &superseded) || superseded.By.Node != node(2) || kv.ValidUntil() > 0 {
		t.Errorf("what was taken over ended with %v", kv.Err())
	}
	if other.Err() != nil || other.ValidUntil() <= clock.Real.Now() {
		t.Errorf("what nobody took is valid until %v, %v", other.ValidUntil(), other.Err())
	}
}

func TestAServiceThatWasTakenOverAndLeftIsLostAllTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	stopped, b := still(t, dir, time.Hour), start(t, dir)
	kv := claimed(t, stopped, named("kv", 1))
	runOut(t, stopped)
	claimed(t, b, named("kv", 2)).Withdraw(t.Context())
	if err := stopped.renew(); err != nil || !errors.Is(kv.Err(), find.ErrSuperseded) {
		t.Errorf("%v, %v", err, kv.Err())
	}
}

func TestWhatIsWrittenTooLateDoesNotCount(t *testing.T) {
	l := still(t, filepath.Join(t.TempDir(), "weft"), time.Hour).lease
	if sure, err := l.renew(); !sure || err != nil {
		t.Fatalf("in time: %v, %v", sure, err)
	}
	l.end = now() // it runs out while the new end is written
	if sure, err := l.renew(); sure || err != nil {
		t.Errorf("too late: %v, %v", sure, err)
	}
	if sure, err := l.renewLocked(); sure || err != nil {
		t.Errorf("too late, under the lock: %v, %v", sure, err)
	}
	if sure, err := l.renewLocked(); !sure || err != nil {
		t.Errorf("in time, under the lock: %v, %v", sure, err)
	}
}

func TestARemovedDirectoryEndsTheClaims(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	a := still(t, dir, time.Hour)
	c := claimed(t, a, named("kv", 1))
	os.RemoveAll(dir)
	if err := a.renew(); !errors.Is(err, errRemoved) || !errors.Is(c.Err(), find.ErrLost) {
		t.Errorf("%v, %v", err, c.Err())
	}
	if _, err := a.Claim(t.Context(), named("kv", 1)); err == nil {
		t.Error("claimed in a directory that is not there")
	}
	os.Mkdir(dir, 0o700) // so that Close has its lock
}

func TestAWithdrawalThatCouldNotBeFinishedIsFinishedLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	a, b := still(t, dir, time.Hour), start(t, dir)
	c := claimed(t, a, named("kv", 1))
	unlock, err := b.dir.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Withdraw(ended); !errors.Is(err, context.Canceled) || !errors.Is(c.Err(), find.ErrWithdrawn) || !a.ended() {
		t.Errorf("%v, %v", err, c.Err())
	}
	if err := a.renew(); err != nil {
		t.Errorf("renewing waits for the directory's lock: %v", err)
	}
	unlock()
	next := claimed(t, a, named("kv", 1)) // has nothing to do with the one before
	if next == c || a.ended() {
		t.Error("a claim that has ended was given again")
	}
	if unlock, err = b.dir.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.Withdraw(ended)
	unlock()
	if err := a.clear(t.Context()); err != nil || a.ended() || len(at(t, b, wire.NameID("kv"))) > 0 {
		t.Errorf("not finished: %v", err)
	}
}

// A process that is stopped while it has the directory's lock holds up nobody for longer than he wants, and nobody who only looks.
func TestAStoppedProcessHoldsUpNobodyForLong(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	stopped, other := start(t, dir), start(t, dir)
	unlock, err := stopped.dir.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	impatience := errors.New("nobody waits that long")
	ctx, end := context.WithCancelCause(t.Context())
	end(impatience)
	if _, err := OpenContext(ctx, Config{Dir: dir}); !errors.Is(err, impatience) || !strings.Contains(err.Error(), "another process keeps it") {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Errorf("who has claimed nothing needs the lock to leave: %v", err)
	}
}

func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	os.Mkdir(open, 0o700)
	os.Chmod(open, 0o777)
	link := filepath.Join(t.TempDir(), "link")
	os.Symlink(t.TempDir(), link)
	cases := map[string]string{open: "can be written to by others", link: "is not a directory", "/nowhere/at/all": "no such file"}
	if os.Getuid() != 0 {
		cases["/"] = "belongs to user 0"
	}
	for path, want := range cases {
		if _, err := Open(Config{Dir: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := Open(Config{Dir: t.TempDir(), Lease: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Error(err)
	}
}

func TestFilesThatAreNoRecordsAreIgnoredAndReportedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	var log bytes.Buffer
	a, err := Open(Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	bad, wrong := fileOf(find.Key{Service: wire.NameID("bad")}), fileOf(find.Key{Service: wire.NameID("wrong")})
	record := named("kv", 1)
	os.WriteFile(filepath.Join(dir, bad), []byte("nonsense"), 0o600)
	os.WriteFile(filepath.Join(dir, wrong), record.Append(make([]byte, 16)), 0o600)
	os.WriteFile(filepath.Join(dir, "a file"), []byte("of somebody's"), 0o600)
	syscall.Mkfifo(filepath.Join(dir, fileOf(find.Key{Service: wire.NameID("pipe")})), 0o600)
	os.WriteFile(filepath.Join(dir, fileOf(find.Key{Service: wire.NameID("huge")})), make([]byte, 1<<20), 0o600)
	for range 2 {
		if all, err := a.List(t.Context()); len(all) != 0 || err != nil {
			t.Errorf("listed %v, %v", all, err)
		}
		for _, name := range []string{"bad", "wrong", "pipe", "huge"} {
			if got := at(t, a, wire.NameID(name)); len(got) > 0 {
				t.Errorf("%s was found at %v", name, got)
			}
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 3 || strings.Count(log.String(), bad) != 1 {
		t.Errorf("the log has %d lines:\n%s", n, log.String())
	}
	claimed(t, a, named("bad", 1)) // takes the place of the bad one
	if !at(t, a, wire.NameID("bad"))[node(1)] {
		t.Error("not found")
	}
}

func FuzzDecode(f *testing.F) {
	r := named("kv", 1)
	f.Add(r.Append(make([]byte, 16)))
	f.Fuzz(func(t *testing.T, b []byte) {
		by, r, err := decode(b)
		if err == nil && !bytes.Equal(r.Append(by[:]), b) {
			t.Errorf("%x decodes to %x, %v", b, by, &r)
		}
	})
}

func TestChangesAreTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	a, b := start(t, dir), still(t, dir, time.Hour)
	claimed(t, a, named("before", 1))
	b.Watch(func(find.Change) {})
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, change := range b.news() {
			got = append(got, change.What.String()+" "+change.Record.Name)
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("heard %v, want %v", got, want)
		}
	}
	expect()
	c := claimed(t, a, named("kv", 1))
	expect("came kv")
	if !b.seen.written.IsZero() {
		t.Error("what was written just now is taken for settled")
	}
	b.seen.written = time.Unix(1, 0)                 // as if it were long ago
	os.Chtimes(dir, time.Unix(1, 0), b.seen.written) //
	expect()                                         // without reading the files
	moved := named("kv", 1)
	moved.At = []string{"elsewhere:1"}
	claimed(t, a, moved)
	expect("moved kv")
	c.Withdraw(t.Context())
	expect("gone kv")
	expect()
}
