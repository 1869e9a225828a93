package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect"
)

func TestJoinAndExchange(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { exchangeAll(t, joinAll(t, n, nil)) })
	}
}

// exchangeAll has every member give every other a note of its own.
func exchangeAll(t *testing.T, meshes []*Mesh) {
	t.Helper()
	ctx := testContext(t)
	mustAll(t, concurrently(len(meshes), func(i int) error {
		notes := make([][]byte, len(meshes))
		for j := range notes {
			notes[j] = fmt.Appendf(nil, "%d to %d", i, j)
		}
		theirs, err := meshes[i].Exchange(ctx, "names", notes)
		for j, note := range theirs {
			if want := fmt.Sprintf("%d to %d", j, i); err == nil && j != i && string(note) != want {
				err = fmt.Errorf("got %q, want %q", note, want)
			}
		}
		return err
	}))
}

func TestJoinMany(t *testing.T) {
	if testing.Short() {
		t.Skip("4032 sockets")
	}
	start := time.Now()
	meshes := joinAll(t, 64, nil)
	joined := time.Now()
	exchangeAll(t, meshes)
	t.Logf("64 members: joined in %v, exchanged in %v", joined.Sub(start), time.Since(joined))
}

func TestJoinOnTCP(t *testing.T) {
	const n = 4
	ctx, listeners, addresses := testContext(t), make([]*connect.Listener, n), make([]string, n)
	for i := range listeners {
		var err error
		if listeners[i], err = connect.Listen(ctx, "127.0.0.1:0", connect.Options{}); err != nil {
			t.Fatal(err)
		}
		defer listeners[i].Close()
		addresses[i] = listeners[i].Address()
	}
	for range 2 { // the listener stays the caller's
		meshes := make([]*Mesh, n)
		mustAll(t, concurrently(n, func(i int) (err error) {
			meshes[i], err = Join(ctx, Config{Self: i, Members: addresses, Listener: listeners[i]})
			return err
		}))
		exchangeAll(t, meshes)
		mustAll(t, concurrently(n, func(i int) error { return meshes[i].Close() }))
	}
}

func TestMissingMembersAreNamedEverywhere(t *testing.T) {
	names := []string{"ann", "bob", "cid", "dan", "eve"}
	here := []int{0, 2, 4}
	want := []string{"members 1 (bob) and 3 (dan) did not come within "}
	start := time.Now()
	errs := briefly(t, func(ctx context.Context) []error {
		addresses := sockets(t, 5)
		return concurrently(len(here), func(i int) error {
			_, err := Join(ctx, Config{Self: here[i], Members: addresses, Names: names})
			return err
		})
	}, want, want, want)
	for _, err := range errs {
		mustContain(t, err, want...)
		if !errors.Is(err, ErrAbsent) || !slices.Equal(Failed(err), []int{1, 3}) {
			t.Errorf("%v: Failed says %v", err, Failed(err))
		}
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("it took %v", took)
	}
}

// TestWhoHasEveryoneHearsOfWhoHasNot: member 2 meets both others, but those do not meet each other.
func TestWhoHasEveryoneHearsOfWhoHasNot(t *testing.T) {
	want := [][]string{{"member 1 (", "did not come"}, {"member 0 (", "did not come"}, {"gave up", "did not come"}}
	errs := briefly(t, func(ctx context.Context) []error {
		addresses := sockets(t, 3)
		wrong := slices.Clone(addresses)
		wrong[0] += "-nowhere"
		lists := [][]string{addresses, wrong, addresses}
		contexts := []context.Context{ctx, ctx, testContext(t)}
		return concurrently(3, func(i int) error {
			_, err := Join(contexts[i], Config{Self: i, Members: lists[i]})
			return err
		})
	}, want...)
	for i, err := range errs {
		mustContain(t, err, want[i]...)
	}
}

func TestJoinCanBeGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := Join(ctx, Config{Self: 1, Members: sockets(t, 3)})
	mustContain(t, err, "members 0 (", "and 2 (", "given up", "context canceled")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	ctx, addresses := testContext(t), sockets(t, 2)
	refused := make(chan error, 64)
	first := make(chan *Mesh, 1)
	go func() {
		m, err := Join(ctx, Config{Name: "ours", Members: addresses, Options: connect.Options{OnRefused: func(err error) { refused <- err }}})
		if err != nil {
			t.Error(err)
		}
		first <- m
	}()
	for want, mine := range map[string]hello{
		`mesh "theirs"`:               {member: 1, members: 2, name: "theirs"},
		"the peer 3":                  {member: 1, members: 3, name: "ours"},
		"both say that they are memb": {member: 0, members: 2, name: "ours"},
	} {
		s := dial(t, addresses[0])
		if _, err := s.Swap(ctx, connect.Card{Step: helloStep, Note: mine.encode()}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Swap(ctx, connect.Card{})
		mustContain(t, err, "gave up", want)
		mustContain(t, <-refused, want)
	}
	s := dial(t, addresses[0])
	_, err := s.Swap(ctx, connect.Card{Step: "something else"})
	mustContain(t, err, "out of step")
	mustContain(t, <-refused, "out of step")
	dial(t, addresses[0]) // says nothing, for ever

	second, err := Join(ctx, Config{Name: "ours", Self: 1, Members: addresses})
	if err != nil {
		t.Fatal(err)
	}
	meshes := []*Mesh{<-first, second}
	exchangeAll(t, meshes)
	mustAll(t, concurrently(2, func(i int) error { return meshes[i].Close() }))
}

func TestNobodyCanBeThereTwice(t *testing.T) {
	ctx, addresses := testContext(t), sockets(t, 3)
	done := make(chan error, 1)
	go func() {
		_, err := Join(ctx, Config{Members: addresses})
		done <- err
	}()
	say := connect.Card{Step: helloStep, Note: hello{member: 2, members: 3}.encode()}
	one, two := dial(t, addresses[0]), dial(t, addresses[0])
	for _, s := range []*connect.Session{one, two} {
		if _, err := s.Swap(ctx, say); err != nil {
			t.Fatal(err)
		}
	}
	refusals := make(chan error, 2)
	for _, s := range []*connect.Session{one, two} {
		go func() {
			_, err := s.Swap(ctx, connect.Card{})
			refusals <- err
		}()
	}
	mustContain(t, <-refusals, "there is a member 2 already")
	_, err := Join(brief(t), Config{Self: 1, Members: addresses})
	mustContain(t, err, " 2 (", "did not come")
	mustContain(t, <-done, "member") // whichever claim it believed, the mesh did not come about
	<-refusals
}

func TestAWrongListIsNoticed(t *testing.T) {
	want := []string{"the peer says that it is member", "same list"}
	errs := briefly(t, func(ctx context.Context) []error {
		addresses := sockets(t, 3)
		lists := [][]string{addresses, addresses, {addresses[1], addresses[0], addresses[2]}}
		return concurrently(3, func(i int) error {
			_, err := Join(ctx, Config{Self: i, Members: lists[i]})
			return err
		})
	}, nil, nil, want)
	mustContain(t, errs[2], want...)
}

func TestCommon(t *testing.T) {
	offers := map[int][]string{0: {"ibv", "shm", "tcp"}, 1: {"tcp", "shm", "ibv"}, 2: {"shm", "tcp"}}
	meshes := joinAll(t, 3, func(c *Config) {
		for _, word := range offers[c.Self] {
			c.Options.Offers = append(c.Options.Offers, connect.Offer{Provider: word})
		}
	})
	for i, m := range meshes {
		if got := m.Common(); !slices.Equal(got, []string{"shm", "tcp"}) {
			t.Errorf("member %d: common %v", i, got)
		}
	}
	if got := meshes[1].Agreed(0).Provider; got != "ibv" {
		t.Errorf("members 0 and 1 agreed on %s", got)
	}
	if got := meshes[1].Agreed(1).Provider; got != "" {
		t.Errorf("member 1 agreed on %s with itself", got)
	}
}

func TestNoCommonProviderIsNamed(t *testing.T) {
	want := [][]string{{"member 1 (", "did not come", "turned away", "no common provider"}, {"member 0 (", "no common provider"}}
	errs := briefly(t, func(ctx context.Context) []error {
		addresses := sockets(t, 2)
		return concurrently(2, func(i int) error {
			offers := []connect.Offer{{Provider: []string{"shm", "tcp"}[i]}}
			_, err := Join(ctx, Config{Self: i, Members: addresses, Options: connect.Options{Offers: offers}})
			return err
		})
	}, want...)
	for i, err := range errs {
		mustContain(t, err, want[i]...)
	}
}

func TestBadConfigurations(t *testing.T) {
	two := []string{"unix:@a", "unix:@b"}
	for want, config := range map[string]Config{
		"0 members":      {},
		"Self is 2":      {Self: 2, Members: two},
		"Self is -1":     {Self: -1, Members: two},
		"1 names for 2":  {Members: two, Names: []string{"a"}},
		"the same":       {Members: []string{"unix:@a", "unix:@a"}},
		"printable":      {Members: two, Name: "a\nb"},
		"printable text": {Members: two, Names: []string{"a", "\x1b[2J"}},
		"is negative":    {Members: two, Options: connect.Options{Timeout: -1}},
		"no address":     {Self: 1, Members: []string{"nowhere", sockets(t, 1)[0]}},
	} {
		if _, err := Join(testContext(t), config); !errors.Is(err, connect.ErrArgument) {
			t.Errorf("%s: %v", want, err)
		} else {
			mustContain(t, err, want)
		}
	}
	if _, err := Join(nil, Config{Members: two}); !errors.Is(err, connect.ErrArgument) { //nolint:staticcheck // what a caller may do
		t.Errorf("nil context: %v", err)
	}
}
