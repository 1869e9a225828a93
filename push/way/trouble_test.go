package way

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/oneport"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// heard asserts what a caller hears: of which class it is, and what errors.Is finds.
func heard(t *testing.T, err error, want control.Class, is ...error) {
	t.Helper()
	if got := Classify(err); got != want {
		t.Errorf("%v is of class %q, want %q", err, got, want)
	}
	for _, one := range is {
		if !errors.Is(err, one) {
			t.Errorf("%v is not: %v", err, one)
		}
	}
}

func TestACertificateThatDoesNotListTheService(t *testing.T) {
	a := newAuthority(t, "c")
	agent := newAgent(t, ring(t, a, "host2", control.RoleAgent, "agent/host2"), "host2")
	pusher := newPusher(t, ring(t, a, "me", control.RolePusher), map[string]string{"host1": agent.Address(), "host2": agent.Address()})
	_, err := call(t, pusher, "host1")
	heard(t, err, control.Authorization, ripc.ErrForbidden)
	_, err = call(t, pusher, "host2")
	check(t, err)
}

func TestAnAgentOfAnotherCluster(t *testing.T) {
	agent := newAgent(t, ring(t, newAuthority(t, "other"), "host1", control.RoleAgent, "agent/host1"), "host1")
	pusher := newPusher(t, ring(t, newAuthority(t, "c"), "me", control.RolePusher), map[string]string{"host1": agent.Address()})
	_, err := call(t, pusher, "host1")
	heard(t, err, control.Authorization, ripc.ErrForbidden, keys.ErrUntrusted)
}

// The pusher trusts the agent, but not the other way round: only the agent knows that.
func TestAPusherThatTheAgentDoesNotBelieve(t *testing.T) {
	known, unknown := newAuthority(t, "c"), newAuthority(t, "c")
	agent := newAgent(t, ring(t, known, "host1", control.RoleAgent, "agent/host1"), "host1")
	b, err := unknown.Issue(keys.Request{Name: "me", Role: control.RolePusher})
	check(t, err)
	b.Authorities = append(b.Authorities, known.Bundle().Certificate)
	path := filepath.Join(t.TempDir(), "me.pem")
	check(t, b.Write(path))
	k, err := keys.Open(keys.Config{Files: []string{path}})
	check(t, err)
	for range 20 { // what the agent says must never be lost with the connection
		pusher := newPusher(t, k, map[string]string{"host1": agent.Address()})
		_, err = call(t, pusher, "host1")
		heard(t, err, control.Authorization, ripc.ErrForbidden)
	}
}

func TestAnAgentWhoseCertificateHasEnded(t *testing.T) {
	a := newAuthority(t, "c")
	pusher := newPusher(t, ring(t, a, "me", control.RolePusher), map[string]string{"host1": expiredAgent(t, a)})
	_, err := call(t, pusher, "host1")
	heard(t, err, control.Authorization, ripc.ErrForbidden, keys.ErrExpired)
}

// expiredAgent shows a certificate that ended yesterday to all who call it, until the test ends.
func expiredAgent(t *testing.T, a *keys.Authority) string {
	t.Helper()
	b, err := a.Issue(keys.Request{Name: "host1", Role: control.RoleAgent, Services: []string{"agent/host1"}})
	check(t, err)
	old := *b.Certificate
	old.NotBefore, old.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	shown, err := x509.CreateCertificate(rand.Reader, &old, a.Bundle().Certificate, b.Key.Public(), a.Bundle().Key)
	check(t, err)
	port, err := oneport.Listen("127.0.0.1:0")
	check(t, err)
	l, err := port.Listener(sessions)
	check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{shown}, PrivateKey: b.Key}}}).Handshake()
			c.Close()
		}
	}()
	t.Cleanup(func() { port.Close(); <-done })
	return port.Addr().String()
}

func TestAHostWhereNobodyAnswers(t *testing.T) {
	a := newAuthority(t, "c")
	gone := newAgent(t, ring(t, a, "host1", control.RoleAgent, "agent/host1"), "host1")
	bare := open(t, Config{Listen: "127.0.0.1:0", Keys: ring(t, a, "host2", control.RoleAgent, "agent/host2")})
	pusher := newPusher(t, ring(t, a, "me", control.RolePusher), map[string]string{"host1": gone.Address(), "host2": bare.Address()})
	check(t, gone.Close())
	for _, name := range []string{"host1", "host2", "host3"} {
		_, err := call(t, pusher, name)
		heard(t, err, control.Unreachable)
	}
}

func TestClassify(t *testing.T) {
	for err, want := range map[error]control.Class{
		fmt.Errorf("call: %w", context.Canceled):         control.Interrupted,
		fmt.Errorf("call: %w", context.DeadlineExceeded): control.Unreachable,
		errors.New("else"):                               control.Other,
	} {
		heard(t, err, want)
	}
}
