package pingpong

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/verbs"
)

// played is how a game has ended for one side.
type played struct {
	result perftest.Result
	err    error
}

// connected makes two ends of a TCP connection.
func connected(t *testing.T) (caller, called net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if caller, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if called, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { caller.Close(); called.Close() })
	return caller, called
}

// play plays a game between two devices, each side with its own idea of it.
func play(t *testing.T, devices [2]*verbs.Device, client, server Game) (here, there played) {
	t.Helper()
	a, b := connected(t)
	client.Client = true
	served := make(chan played, 1)
	go func() {
		result, err := server.Play(context.Background(), devices[1], b)
		b.Close()
		served <- played{result, err}
	}()
	here.result, here.err = client.Play(t.Context(), devices[0], a)
	a.Close()
	return here, <-served
}

// twoDevices have one GID each, in one subnet.
func twoDevices(t *testing.T) [2]*verbs.Device {
	t.Helper()
	pairs := &book{}
	return [2]*verbs.Device{openNIC(t, pairs, "10.9.0.1/24"), openNIC(t, pairs, "10.9.0.2/24")}
}

// generous is a silence that means a hang.
const generous = 20 * time.Second

func TestGame(t *testing.T) {
	pairs := &book{}
	devices := [2]*verbs.Device{openNIC(t, pairs, "10.9.0.1/24", "fe80::1/64"), openNIC(t, pairs, "fd00::2/64", "10.9.0.2/24")}
	game := Game{Size: 4096, Rounds: 200, Silence: generous}
	here, there := play(t, devices, game, game)
	for who, p := range map[string]played{"client": here, "server": there} {
		l := p.result.Latency
		if p.err != nil || p.result.Messages != 200 || p.result.Size != 4096 || l == nil || l.P50 <= 0 || l.Kind != "half round trip" {
			t.Errorf("the %s: %v, %+v, %+v", who, p.err, p.result, l)
		}
	}
	if here.result.Latency.Count != 200 || there.result.Latency.Count != 199 {
		t.Errorf("%d and %d samples", here.result.Latency.Count, there.result.Latency.Count)
	}
}

// What the two sides were told differently, each of them says.
func TestSidesThatDiffer(t *testing.T) {
	base := Game{Size: 64, Rounds: 50, Silence: generous}
	longer, shorter, more := base, base, base
	longer.Size, shorter.Size, more.Rounds = 65, 63, 60
	for _, c := range []struct {
		name           string
		client, server Game
		here, there    string // what they say; nothing: no matter what
	}{
		{"longer", longer, base, "give both sides the same size", "give both sides the same size"},
		{"shorter", shorter, base, "", "a message of 63 bytes came, not of 64: give both sides the same size"},
		{"more", base, more, "", "after 50 of 60"},
		{"fewer", more, base, "50 of 60", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var here, there played
			for silence := 50 * time.Millisecond; silence < generous; silence *= 4 { // on a busy host messages take longer
				for _, g := range []*Game{&c.client, &c.server} {
					if g.Rounds == more.Rounds {
						g.Silence = silence
					}
				}
				if here, there = play(t, twoDevices(t), c.client, c.server); here.says(c.here) && there.says(c.there) {
					return
				}
			}
			t.Errorf("the client ends with %v, the server with %v", here.err, there.err)
		})
	}
}

// says reports whether a game has ended with such words; nothing: no matter with which.
func (p played) says(words string) bool {
	return words == "" || p.err != nil && strings.Contains(p.err.Error(), words)
}

func TestInterruptedGame(t *testing.T) {
	a, _ := connected(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	result, err := Game{Client: true, Size: 8, Rounds: 1, Silence: generous}.Play(ctx, twoDevices(t)[0], a)
	if !errors.Is(err, context.Canceled) || result.Partial {
		t.Errorf("%+v, %v", result, err)
	}
}

// A game that is interrupted when it has begun shows what was measured until then.
func TestPartialGame(t *testing.T) {
	for wait := 10 * time.Millisecond; wait < generous; wait *= 2 { // on a busy host it may not have begun
		result, err := interrupted(t, wait)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if result.Partial {
			if result.Messages < 1 || result.Latency == nil || result.Latency.P50 <= 0 {
				t.Errorf("%+v, %+v", result, result.Latency)
			}
			return
		}
	}
	t.Error("no result is partial")
}

// interrupted is what a client has of a game without end that is interrupted after a time.
func interrupted(t *testing.T, after time.Duration) (perftest.Result, error) {
	devices := twoDevices(t)
	a, b := connected(t)
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	server := Game{Size: 8, Rounds: 1 << 30, Silence: generous}
	client := server
	client.Client = true
	served := make(chan error, 1)
	go func() {
		_, err := server.Play(ctx, devices[1], b)
		served <- err
	}()
	result, err := client.Play(ctx, devices[0], a)
	if <-served == nil {
		t.Error("the server has played to the end")
	}
	return result, err
}
