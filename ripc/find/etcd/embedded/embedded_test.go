package embedded

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestABadConfigurationIsRefusedWithAReason(t *testing.T) {
	for want, config := range map[string]Config{
		"Folder is empty":                    {},
		"give all or none":                   {Folder: t.TempDir(), Key: "key.pem"},
		"missing port":                       {Folder: t.TempDir(), Listen: "127.0.0.1"},
		"is not an IP address":               {Folder: t.TempDir(), Listen: "host:1"},
		"everybody could write to 0.0.0.0:1": {Folder: t.TempDir(), Listen: "0.0.0.0:1"},
		"no such file or directory":          {Folder: t.TempDir(), Certificate: "no", Key: "no", Authority: "no"},
		"start etcd in \"/dev/null\": ":      {Folder: "/dev/null"},
	} {
		s, err := Start(t.Context(), config)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", config, err, want)
		}
	}
}

func TestTwoServersDoNotListenAtOnePlace(t *testing.T) {
	first, err := Start(t.Context(), Config{Folder: t.TempDir(), Careless: true})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, address, _ := strings.Cut(first.Endpoint(), "://")
	if _, err := Start(t.Context(), Config{Folder: t.TempDir(), Listen: address}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
}

func TestAStartThatIsGivenUpLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := Start(ctx, Config{Folder: t.TempDir()})
	if err == nil {
		s.Close() // it was ready at once
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAServerIsClosedOnce(t *testing.T) {
	s, err := Start(t.Context(), Config{Folder: t.TempDir(), Careless: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
}
