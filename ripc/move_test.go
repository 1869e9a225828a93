package ripc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
)

// moving is a service with a call that its process has received, and has not answered.
type moving struct {
	d         *directory
	a, b, c   *Node // the caller, who had the service, and who gets it
	unsettled *Message
	ended     chan error
}

func newMoving(t *testing.T, isLent, isIdempotent bool) *moving {
	t.Helper()
	d := newDirectory()
	m := &moving{d: d, a: newNode(t, d, Config{}), b: newNode(t, d, Config{}), c: newNode(t, d, Config{}), ended: make(chan error, 1)}
	echo(t, m.b, "other")
	ask(t, m.a, "other", "so that they are linked")
	s, err := m.b.Register(patient(t), "kv")
	check(t, err)
	var done sync.WaitGroup
	r := Request{To: s.ID(), Idempotent: isIdempotent}
	if isLent {
		r.Lend, r.Return = []*Buffer{filled(t, m.a, 1000, "x")}, []*Buffer{filled(t, m.a, 1000, "?")}
	}
	done.Go(func() {
		answer, err := m.a.Do(patient(t), r)
		if err == nil {
			answer.Release()
		}
		m.ended <- err
	})
	t.Cleanup(done.Wait)
	m.unsettled, err = s.Receive(patient(t))
	check(t, err)
	return m
}

// move has another process have the service, and the caller hear of it.
func (m *moving) move(t *testing.T) {
	t.Helper()
	echo(t, m.c, "kv")
	records, err := m.d.Find(patient(t), Name("kv"))
	check(t, err)
	m.d.Tell(find.Change{What: find.Moved, Record: records[0]})
}

// A call that may be delivered twice follows its service. What the process says that had it, later, is heard by nobody, and harms nobody.
func TestAnIdempotentCallFollowsItsService(t *testing.T) {
	m := newMoving(t, false, true)
	m.move(t)
	check(t, <-m.ended)
	var l *link.Link
	check(t, m.a.on(func() { l = m.a.office.peers[m.b.id].link }))
	check(t, m.unsettled.Answer(patient(t), []byte("too late")))
	m.unsettled.Release()
	until(t, m.a, "nothing is left of it, and the link is there", func() bool { return l.IsReady() && l.IsIdle() })
}

// A process that has lost a service lives: what it has received it answers, however long that takes.
func TestAProcessThatLivesAnswersWhatItHas(t *testing.T) {
	for name, isLent := range map[string]bool{"short": false, "lent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t, isLent, isLent) // what is lent is not lent twice at a time
			m.move(t)
			check(t, pause.For(patient(t), 5*movedGrace/2)) // something may have come by itself within the first
			check(t, m.unsettled.Answer(patient(t), []byte("at last")))
			m.unsettled.Release()
			check(t, <-m.ended)
		})
	}
}

// A lookup that has begun before a service moved may find where it was: that is not believed, or what follows it would go back.
func TestALookupThatIsOvertakenIsNotBelieved(t *testing.T) {
	m := newMoving(t, false, true)
	defer m.unsettled.Release()
	old, err := m.d.Find(patient(t), Name("kv"))
	check(t, err)
	var r *route
	check(t, m.a.on(func() {
		r = m.a.office.routes[Name("kv")]
		r.forget()
		r.seeking = true
	}))
	m.move(t)
	check(t, m.a.on(func() {
		if r.found(old, nil); r.peer != nil {
			t.Error("what it found was believed")
		}
	}))
	check(t, <-m.ended)
}

// stop stops the child, and waits until it stands still.
func (c *child) stop() {
	c.t.Helper()
	c.signal(syscall.SIGSTOP)
	for ctx := patient(c.t); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.process.Pid))
		check(c.t, err)
		if _, rest, _ := strings.Cut(string(text), ") "); strings.HasPrefix(rest, "T") {
			return
		}
	}
	c.t.Fatal("it does not stand still")
}

// callAll makes calls of all kinds, more than the peer lets come at a time, and says which of them did not end as they should.
func callAll(n *Node, lend func() *Buffer) <-chan error {
	ends := make(chan error, 16)
	var all sync.WaitGroup
	for i := range cap(ends) {
		r := Request{To: Name("kv"), Items: [][]byte{fmt.Append(nil, i)}, Idempotent: i%2 == 1}
		if r.Idempotent {
			r.Items[0] = append(r.Items[0], '!')
		}
		if i%4 >= 2 {
			r.Lend, r.Return = []*Buffer{lend()}, []*Buffer{lend()}
		}
		all.Go(func() { ends <- callOne(n, r) })
	}
	go func() {
		all.Wait()
		close(ends)
	}()
	return ends
}

func callOne(n *Node, r Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	m, err := n.Do(ctx, r)
	if err == nil {
		m.Release()
	}
	if !r.Idempotent && errors.Is(err, ErrLost) && errors.Is(err, errMoved) {
		return nil
	}
	return err
}

// What is under way to a process that is stopped, and loses its service, follows that, or fails once: it does not wait for an answer that
// will not come.
func TestWhatIsUnderWayLeavesAStoppedProcess(t *testing.T) {
	for name, at := range places(t, "5") {
		t.Run(name, func(t *testing.T) {
			n := at.openNode(t)
			first, second := serves(t, at), startChild(t, at)
			ask(t, n, "kv", "so that they are linked")
			first.stop()
			ends := callAll(n, func() *Buffer { return filled(t, n, 1000, "x") })
			second.command("go")
			second.until("serves")
			for err := range ends {
				check(t, err)
			}
			first.signal(syscall.SIGCONT)
			first.until("ended")
			ask(t, n, "kv", "once more")
			onlyOnce(t, first, second)
		})
	}
}
