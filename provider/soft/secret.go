package soft

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
)

// secret is that of one life of a queue pair. It stands in the address, which the owner gives to one peer, by a way that both trust: so who
// knows it is that peer. TLS alone says only that somebody of the same trust is there, and the names of lives can be guessed.
//
// Nobody says it. Both ends prove that they know it, for this very connection: who stands between two ends, with a TLS connection to each,
// hears a proof that is of no use with the other.
type secret [16]byte

func newSecret() (s secret) {
	_, _ = rand.Read(s[:]) // it does not fail
	return s
}

// proof is that somebody knows a secret.
type proof [sha256.Size]byte

// role is that of who proves something: what one end says is no proof by the other.
type role byte

const (
	provesCaller role = iota + 1
	provesCalled
)

// prove is the proof of who calls or is called, on a connection with a binding.
func (s secret) prove(who role, binding []byte) proof {
	h := hmac.New(sha256.New, s[:])
	h.Write([]byte{byte(who)})
	h.Write(binding)
	return proof(h.Sum(nil))
}

// isProven reports whether a proof is right.
func (s secret) isProven(p proof, who role, binding []byte) bool {
	right := s.prove(who, binding)
	return hmac.Equal(p[:], right[:])
}

// bindingLabel is for ExportKeyingMaterial (RFC 5705, section 4).
const bindingLabel = "EXPERIMENTAL weft soft"

// bindingOf is what only the two ends of a TLS connection know, and what no other connection has. Without TLS there is none: who can stand between the
// ends can change what they say, too.
func bindingOf(c net.Conn) ([]byte, error) {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil, nil
	}
	state := t.ConnectionState()
	return state.ExportKeyingMaterial(bindingLabel, nil, sha256.Size)
}

var (
	errWrongCaller = errors.New("who calls does not know the secret in this queue pair's address: it is not whom the address was given to, or somebody stands between")
	errWrongCalled = errors.New("who answers does not know the secret in this queue pair's address: it is not the peer, or somebody stands between")
)
