package main

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	pushway "github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/static"
)

// shortLived writes keys whose certificate ends at a time that no authority would agree to.
func shortLived(t *testing.T, dir, name string, ends time.Time) string {
	t.Helper()
	a, err := keys.ReadAuthority(keyPath(dir, authorityName))
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Issue(requestForPush(name, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	short := *b.Certificate
	short.NotAfter = ends
	der, err := x509.CreateCertificate(rand.Reader, &short, a.Bundle().Certificate, b.Key.Public(), a.Bundle().Key)
	if err != nil {
		t.Fatal(err)
	}
	if b.Certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	path := keyPath(t.TempDir(), name)
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// refusedPush pushes to one agent, for people, and wants status 7 and words that help.
func (b *bed) refusedPush(pusher string, says ...string) {
	b.t.Helper()
	source := noise(b.t, "file", 1<<10)
	status, out, errs := pushed(b.t, "push", source, ".", "--keys", pusher, "-w", b.agents[0].address)
	if status != push.ExitAuth {
		b.t.Errorf("status %d: %s%s%s", status, out, errs, b.logs())
	}
	for _, word := range says {
		if !strings.Contains(out+errs, word) {
			b.t.Errorf("nobody says %q: %s%s", word, out, errs)
		}
	}
	b.check(outcome{})
	empty(b.t, b.agents[0].root)
}

// Keys of another cluster, at either end.
func TestPushAcrossClusters(t *testing.T) {
	b, other := newBed(t, 1), filepath.Join(t.TempDir(), "other")
	keysJSON(t, "make", other, "127.0.0.1", "--push")
	b.refusedPush(keyPath(other, "pusher"), "not from the authority of --keys", "'weft keys make'")
	b.agents[0].end(b.agents[0].cmd)
	b.agents[0].keys = keyPath(other, "127.0.0.1")
	b.agents[0].start()
	b.refusedPush(keyPath(b.keys, "pusher"), "not from the authority of --keys", "'weft keys make'")
}

// Certificates that have ended, at either end.
func TestPushWithExpiredKeys(t *testing.T) {
	b := bareBed(t, 1)
	ends := time.Now().Add(3 * time.Second) // the agent has to start before
	b.agents[0].keys = shortLived(t, b.keys, "127.0.0.1", ends)
	b.agents[0].start()
	time.Sleep(time.Until(ends.Add(time.Second)))
	b.refusedPush(keyPath(b.keys, "pusher"), b.agents[0].address+": the certificate of its agent is not valid now", "weft keys renew")
	b.agents[0].end(b.agents[0].cmd)
	b.agents[0].keys = keyPath(b.keys, "127.0.0.1")
	b.agents[0].start()
	b.refusedPush(shortLived(t, b.keys, control.RolePusher, ends), "certificate of pusher ended", "weft keys renew")
}

// An agent whose certificate is of the right cluster, and not for the name that it is called by.
func TestPushToAnAgentThatIsAnother(t *testing.T) {
	b := bareBed(t, 1)
	b.agents[0].keys = keyPath(b.keys, "else")
	keysJSON(t, "issue", b.keys, "else", "--role", control.RoleAgent, "--service", control.Service("else"))
	b.agents[0].start()
	b.refusedPush(keyPath(b.keys, "pusher"), "another name", "weft keys make DIR HOST --push")
}

// Who has only an agent's certificate cannot push, whatever program it uses.
func TestPushWithAnAgentsKeys(t *testing.T) {
	b := newBed(t, 1)
	b.refusedPush(b.agents[0].keys, `only a "pusher" may push`)
	for _, method := range []string{control.MethodHello, control.MethodOpen, control.MethodAbort} {
		_, err := b.ask(b.agents[0].keys, method, control.Hello{Version: control.Version})
		if err == nil || err.Class != control.Authorization {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// placeWith is where somebody calls the agents of a bed from, in this process.
func (b *bed) placeWith(pem string) *pushway.Place {
	b.t.Helper()
	ring, err := keys.Open(keys.Config{Files: []string{pem}})
	if err != nil {
		b.t.Fatal(err)
	}
	table := map[string][]string{}
	for _, a := range b.agents {
		table[control.Service(a.name)] = []string{a.address}
	}
	agents, err := static.New(table)
	if err != nil {
		b.t.Fatal(err)
	}
	place, err := pushway.Open(pushway.Config{Listen: "127.0.0.1:0", Keys: ring, Resolver: agents})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := place.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return place
}

// ask calls the first agent with somebody's keys, and returns its answer.
func (b *bed) ask(pem, method string, q any) (json.RawMessage, *control.Trouble) {
	b.t.Helper()
	return askAt(b.t, b.placeWith(pem), b.agents[0], method, q)
}

func askAt(t *testing.T, place *pushway.Place, a *agentProcess, method string, q any) (json.RawMessage, *control.Trouble) {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := place.Node().Do(ctx, ripc.Request{To: ripc.Name(control.Service(a.name)), Items: [][]byte{[]byte(method), text}})
	if err != nil {
		t.Fatalf("%s: %v: %s", method, err, a.log)
	}
	defer m.Release()
	var answer struct {
		OK    json.RawMessage  `json:"ok"`
		Error *control.Trouble `json:"error"`
	}
	if err := json.Unmarshal(m.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return append(json.RawMessage(nil), answer.OK...), answer.Error
}

// A pusher of another version is told both versions by the agent.
func TestPusherOfAnotherVersion(t *testing.T) {
	b := newBed(t, 1)
	_, err := b.ask(keyPath(b.keys, "pusher"), control.MethodHello, control.Hello{Version: control.Version + 1, Weft: "9.8.7"})
	if err == nil || err.Class != control.Preflight || !strings.Contains(err.Text, "weft 9.8.7 and speaks version 2, the agent is weft unreleased and speaks version 1") {
		t.Error(err)
	}
}

// An agent of another version, which takes everybody for one of its own, is found out by the pusher, and the others get it.
func TestPushToAnAgentOfAnotherVersion(t *testing.T) {
	b := newBed(t, 2)
	old := b.agents[0]
	old.end(old.cmd)
	place := b.placeAs(old)
	service, err := place.Node().Register(t.Context(), control.Service(old.name))
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(serving, 4, greetAs(control.Version+1, "9.8.7")) }()
	defer func() { stop(); <-served }()
	old.address = place.Address()
	source := noise(t, "file", 1<<20)
	o := b.push(push.ExitPartial, source, ".")
	o.failedAs(old, control.Preflight, "speaks version 2 (weft 9.8.7), this end version 1 (weft unreleased)")
	b.check(o, source)
	b.whole(source, b.agents[1])
	b.push(push.ExitPreflight, source, ".", "-x", b.agents[1].name)
}

// placeAs is a place in this process with the keys of an agent.
func (b *bed) placeAs(a *agentProcess) *pushway.Place {
	b.t.Helper()
	ring, err := keys.Open(keys.Config{Files: []string{a.keys}})
	if err != nil {
		b.t.Fatal(err)
	}
	place, err := pushway.Open(pushway.Config{Listen: a.name + ":0", Keys: ring})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := place.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return place
}

// greetAs answers whatever is asked with who it is.
func greetAs(version int, weft string) func(context.Context, *ripc.Message) error {
	return func(ctx context.Context, m *ripc.Message) error {
		text, err := json.Marshal(map[string]any{"ok": control.Greeting{Version: version, Weft: weft, Name: "old", Ways: []string{"tcp"}, Memory: control.MemoryBudget}})
		if err != nil {
			return err
		}
		return m.Answer(ctx, text)
	}
}
