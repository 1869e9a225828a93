package ripc

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// taken is a resolver where somebody else has every name.
type taken struct{ *directory }

func (taken) Claim(_ context.Context, r find.Record) (find.Claim, error) {
	r.At = []string{"unix:@nobody"}
	return nil, &find.TakenError{By: r}
}

// An error says whom it is about by the name that the program has said, and once.
func TestErrorsNameServices(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "greeter")
	check(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		err := s.Serve(context.Background(), 1, func(context.Context, *Message) error { return errors.New("no such key") })
		expectNamed(t, "the end of a service", err)
	})
	over, cancel := context.WithCancel(patient(t))
	cancel()
	_, tooLarge := a.Call(patient(t), s.ID(), make([]byte, 1<<16))
	_, failed := a.Call(patient(t), s.ID())
	_, late := a.Call(over, s.ID())
	_, notEncoded := Function[chan int, int]{From: a, To: s.ID()}.Call(patient(t), nil)
	_, here := b.Register(patient(t), "greeter")
	_, elsewhere := newNode(t, nil, Config{Resolver: taken{d}}).Register(patient(t), "greeter")
	check(t, s.Close())
	done.Wait()
	_, gone := newNode(t, newDirectory(), Config{}).Call(patient(t), s.ID())
	_, alone := newNode(t, nil, Config{}).Call(patient(t), s.ID())
	for what, err := range map[string]error{
		"too large": tooLarge, "failed": failed, "too late": late, "not encoded": notEncoded, "taken here": here, "taken elsewhere": elsewhere,
		"not there": gone, "without a resolver": alone, "not there to be sent to": newNode(t, nil, Config{}).Send(patient(t), s.ID()),
		"a group without members": a.Send(patient(t), Group("greeter")), "a group that is called": second(a.Call(patient(t), Group("greeter"))),
		"returns of a send": a.Post(patient(t), Request{To: s.ID(), Return: []*Buffer{filled(t, a, 1, "x")}}),
		"undelivered":       &UndeliveredError{Service: s.ID(), Count: 1, Why: ErrLost},
	} {
		expectNamed(t, what, err)
	}
}

func expectNamed(t *testing.T, what string, err error) {
	t.Helper()
	hash := regexp.MustCompile(`(named|group|random|service) [0-9a-f]{12}`)
	if err == nil || strings.Count(err.Error(), `"greeter"`) != 1 || hash.MatchString(err.Error()) || strings.Contains(err.Error(), "await") {
		t.Errorf("%s: %v", what, err)
	}
}

// A program that makes up names without end has the first of them remembered; the others have hashes, which are as good.
func TestNamesAreForgottenBeforeMemoryIs(t *testing.T) {
	m := memory{ids: make(map[origin]ID), origins: make(map[ID]origin)}
	for range 2 {
		for i := range 2 * maxNames {
			if name := fmt.Sprint("name ", i); m.id(origin{wire.Named, name}) != wire.NameID(name) || m.id(origin{wire.Group, name}) != wire.GroupID(name) {
				t.Fatalf("%q has another ID", name)
			}
		}
	}
	m.id(origin{wire.Named, strings.Repeat("x", wire.MaxName+1)})
	if len(m.ids) != maxNames || len(m.origins) != maxNames {
		t.Errorf("%d and %d are remembered", len(m.ids), len(m.origins))
	}
}

// Who makes up names without end waits for nobody: what is not remembered needs no more than to be looked for.
func TestNamesThatAreNotRememberedWaitForNobody(t *testing.T) {
	m := memory{ids: make(map[origin]ID), origins: make(map[ID]origin)}
	for i := range maxNames {
		m.id(origin{wire.Named, fmt.Sprint("name ", i)})
	}
	m.mu.RLock() // as somebody who looks for another one
	defer m.mu.RUnlock()
	made := make(chan ID, 1)
	go func() { made <- m.id(origin{wire.Named, "one more"}) }()
	select {
	case id := <-made:
		if id != wire.NameID("one more") {
			t.Errorf("it has another ID, %v", id)
		}
	case <-patient(t).Done():
		t.Error("it waits for the others")
	}
}

func TestWhatHasNoNameHasATitle(t *testing.T) {
	for id, want := range map[ID]string{
		{}:                             "nobody",
		wire.RandomID([15]byte{1}):     "service 010000000000",
		wire.NameID("never said here"): "service " + strings.TrimPrefix(wire.NameID("never said here").String(), "named "),
		Name("said"):                   `service "said"`,
		Group("said"):                  `group "said"`,
	} {
		if got := title(id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
