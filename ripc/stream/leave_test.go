package stream

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/ripc/wire"
)

// asked is a resolver that says when somebody looks for a service.
type asked struct {
	find.Resolver
	finds chan struct{}
}

func (a asked) Find(ctx context.Context, id wire.ID) ([]find.Record, error) {
	a.finds <- struct{}{}
	return a.Resolver.Find(ctx, id)
}

// newAskedNode opens a node, and says when that looks for a service.
func newAskedNode(t *testing.T, dir string) (*ripc.Node, chan struct{}) {
	t.Helper()
	resolver, err := host.Open(host.Config{Dir: dir})
	check(t, err)
	finds := make(chan struct{}, 1000)
	n, closeAll, err := openNodeWith(ripc.Config{Resolver: asked{resolver, finds}}, soft.InProcess)
	check(t, err)
	t.Cleanup(func() { check(t, closeAll()) })
	return n, finds
}

// leave has a client that knows a service, which then ends well. What the client looks for from now on is told.
func leave(t *testing.T, dir string) (client *ripc.Node, finds chan struct{}) {
	t.Helper()
	server := newNode(t, dir)
	client, finds = newAskedNode(t, dir)
	l := listen(t, server)
	there, here := connect(t, l, client)
	closeBoth(t, there, here)
	check(t, server.Shutdown(patient(t)))
	for len(finds) > 0 {
		<-finds
	}
	return client, finds
}

// A service that has left may be about to start elsewhere: who dials meanwhile finds it there.
func TestAServiceThatStartsElsewhereIsFoundByWhoDialsMeanwhile(t *testing.T) {
	dir := t.TempDir()
	client, finds := leave(t, dir)
	next := newNode(t, dir)
	answered := make(chan error, 1)
	web := clientHTTP(t, client)
	go func() {
		answer, err := web.Get("http://there/5")
		if err == nil {
			err = answer.Body.Close()
		}
		answered <- err
	}()
	<-finds // it is looked for, and is nowhere
	serveHTTP(t, next, shop([]byte("hello")))
	check(t, <-answered)
}

// Who dials a service that has left waits for it no longer than it wants.
func TestWhoWaitsForAServiceThatHasLeftMayGiveUp(t *testing.T) {
	client, finds := leave(t, t.TempDir())
	ctx, cancel := context.WithCancel(patient(t))
	go func() {
		<-finds
		cancel()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://there/", http.NoBody)
	check(t, err)
	answer, err := clientHTTP(t, client).Do(request)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err == nil {
		_ = answer.Body.Close()
	}
}

// When a service that has left was given up, the next one who dials it hears so at once: it is looked for once more.
func TestAServiceThatWasGivenUpIsNotWaitedForAgain(t *testing.T) {
	client, finds := leave(t, t.TempDir())
	for _, most := range []int{cap(finds), 1} {
		if _, err := Dial(patient(t), client, "there"); !errors.Is(err, ripc.ErrNoService) {
			t.Error(err)
		}
		if len(finds) > most {
			t.Errorf("it was looked for %d times, at most %d are enough", len(finds), most)
		}
		for len(finds) > 0 {
			<-finds
		}
	}
}
