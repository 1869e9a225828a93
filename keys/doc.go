// Package keys says who is who in a cluster. An [Authority] signs a certificate for each member, which carries the
// member's name, its role, and the services that it may register. A [Keyring] has both ends of a connection show theirs,
// and tells who the peer is:
//
//	ring, err := keys.Open(keys.Config{Files: []string{"/etc/weft/host1.pem"}})
//	if err != nil {
//		return err
//	}
//	session, err := connect.Dial(ctx, address, connect.Options{TLS: ring.TLS()})
//	…
//	state, _ := session.TLS()
//	peer, err := ring.Peer(state)
//	if err == nil && peer.MayRegister("kv/3") { … }
//
// The same configuration is for both ends, and for the TCP lane of the software NIC.
//
// # What is promised
//
// A handshake succeeds only between two members of one cluster, whose certificates are signed by an authority that the
// other one trusts, and are valid now. It is not asked whether the peer's host name is the one that was dialled: services
// move from host to host, and the address of a service comes from whoever resolves names. What counts is which services
// the peer's certificate lists, wherever it was found.
//
// # Files
//
// A member has one file, with its key, its certificate and the authorities that it trusts, as PEM. So it can be
// copied to a host, and later exchanged for the next one, in one step: there is no moment at which the key does not fit the
// certificate. Where other tools keep these in several files, Config.Files names them all. They are looked at again
// at every handshake; connections that exist stay.
//
// # In the certificate
//
// Names stand in URIs, among the subject's alternative names:
//
//	weft://CLUSTER/name/NAME · weft://CLUSTER/role/ROLE · weft://CLUSTER/service/PATTERN, any number of times
//
// and weft://CLUSTER/authority in that of the authority. Any other tool that issues certificates can write them, too.
package keys

import "errors"

// Limits of what a certificate may carry.
const (
	MaxServices    = 64  // patterns in a certificate
	MaxServiceName = 255 // bytes of a service's name, or of a pattern
	MaxName        = 200 // bytes of a member's name, so that it can be that of a file
	MaxWord        = 63  // bytes of a cluster's name, or of a role
	MaxAddresses   = 64  // host names and IP addresses in a certificate
	MaxAuthorities = 16  // certificates of authorities in the files of a member
)

// What can go wrong. Errors of this package wrap one of these, or what the system says.
var (
	// ErrArgument: something is missing, malformed or out of range on this side.
	ErrArgument = errors.New("bad argument")
	// ErrNotKeys: a file does not hold a certificate, a key and an authority that fit each other.
	ErrNotKeys = errors.New("not the keys of a member")
	// ErrNoIdentity: a certificate does not say who its owner is in a cluster.
	ErrNoIdentity = errors.New("not a certificate of a weft cluster")
	// ErrUntrusted: no authority that is trusted has signed the certificate, or it is of another cluster.
	ErrUntrusted = errors.New("not trusted")
	// ErrExpired: a certificate is not valid any more, or not yet.
	ErrExpired = errors.New("the certificate is not valid now")
	// ErrExposed: others can read a file that holds a key.
	ErrExposed = errors.New("others can read this key")
)
