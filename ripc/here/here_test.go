package here

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// pair opens two nodes that are configured alike. One of them has the service "echo", until it is closed, which is waited for by done.
func pair(t *testing.T, config Config) (server, client *Node, done *sync.WaitGroup) {
	t.Helper()
	server, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err = Open(config)
	if err != nil {
		t.Fatal(err)
	}
	echo, err := server.Register(t.Context(), "echo")
	if err != nil {
		t.Fatal(err)
	}
	done = new(sync.WaitGroup)
	done.Go(func() {
		err := echo.Serve(context.Background(), 1, func(ctx context.Context, m *ripc.Message) error { return m.Answer(ctx, m.Items()...) })
		if !errors.Is(err, ripc.ErrClosed) {
			t.Error(err)
		}
	})
	return server, client, done
}

// Two nodes of a host find each other with nothing to configure but where.
func TestNodesOfAHostFindEachOther(t *testing.T) {
	server, client, done := pair(t, Config{Directory: t.TempDir()})
	answer, err := client.Call(t.Context(), ripc.Name("echo"), []byte("hello"))
	if err != nil || string(answer.Bytes()) != "hello" {
		t.Fatalf("%v", err)
	}
	answer.Release()
	for range 2 {
		if err := errors.Join(client.Close(), server.Shutdown(t.Context())); err != nil {
			t.Error(err)
		}
	}
	done.Wait()
}

// Nodes that poll write to each other's memory: what comes is copied out of there, and so both ways are counted, not one.
func TestNodesThatPoll(t *testing.T) {
	server, client, done := pair(t, Config{Directory: t.TempDir(), Waiting: loop.Polling()})
	const calls, size = 100, 64
	for range calls {
		answer, err := client.Call(t.Context(), ripc.Name("echo"), make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		answer.Release()
	}
	if s, err := client.Stats(); err != nil || s.Copied <= calls*size {
		t.Errorf("%+v, %v", s, err)
	}
	if err := errors.Join(client.Close(), server.Close()); err != nil {
		t.Error(err)
	}
	done.Wait()
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		config Config
		says   string
	}{
		{Config{Directory: t.TempDir(), Listen: "nowhere"}, "Listen"},
		{Config{Directory: t.TempDir(), Listen: "127.0.0.1:0"}, "Plain"},
		{Config{Directory: "/proc/none"}, "/proc/none"},
		{Config{Directory: t.TempDir(), Window: -1}, "Config.Window is -1"},
	} {
		if n, err := Open(c.config); err == nil || n != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}
