package here

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/ripc"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Two nodes of a host find each other with nothing to configure but where.
func TestNodesOfAHostFindEachOther(t *testing.T) {
	dir := t.TempDir()
	server, err := Open(Config{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err := Open(Config{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	echo, err := server.Register(t.Context(), "echo")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		err := echo.Serve(context.Background(), 1, func(ctx context.Context, m *ripc.Message) error { return m.Answer(ctx, m.Items()...) })
		if !errors.Is(err, ripc.ErrClosed) {
			t.Error(err)
		}
	})
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
