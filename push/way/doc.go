// Package way opens what a process needs to take part in pushes: a port, the node by which pusher and agents talk, and for
// each push a device of its own, on which the blocks travel.
//
// All of it goes through one port: see package oneport. Control is ripc over the TCP lane only, with mutual TLS always, on one host
// too: who is who is told by certificates, and by nothing else. Blocks travel by what both ends of a push have agreed on:
//
//	tcp  TCP with mutual TLS, or without any (plain)
//	shm  shared memory between processes of one user on one host, never encrypted; TCP as above with all others
//	ibv  RDMA hardware, never encrypted
//
// A process that listens on loopback only, as a pusher does that was not told otherwise, takes part as well: it dials.
package way

import (
	"errors"
)

// The ways of blocks.
const (
	TCP     = "tcp"
	SHM     = "shm"
	IBV     = "ibv"
	anyPort = "127.0.0.1:0"
)

// What can go wrong. Errors of this package wrap one of these, or what is said below.
var (
	// ErrArgument: something is missing or malformed.
	ErrArgument = errors.New("bad argument")
	// ErrNoWay: this process cannot send blocks in that way.
	ErrNoWay = errors.New("there is no such way here")
)
