package main

import (
	"context"
	"fmt"
	"net"
	"time"
)

// A meet lets two machines begin a step together. A single machine has nobody to meet.
type meet struct{ conn net.Conn }

const (
	meetingPort = "4790"           // nothing else of ours listens there
	meetingTime = 10 * time.Minute // a machine may be a whole test ahead of the other; only a hang takes so long
)

// meeting connects to the other machine: the first listens, the second calls until it is heard.
func meeting(ctx context.Context, machine, address, peer string) (*meet, error) {
	if peer == "" {
		return &meet{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, meetingTime)
	defer cancel()
	if machine == "1" {
		return acceptMeeting(ctx, address)
	}
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(peer, meetingPort))
		if err == nil {
			return &meet{conn}, nil
		}
		select {
		case <-time.After(100 * time.Millisecond): // the other machine may still boot
		case <-ctx.Done():
			return nil, fmt.Errorf("meet the other machine: %w", err)
		}
	}
}

func acceptMeeting(ctx context.Context, address string) (*meet, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, meetingPort))
	if err != nil {
		return nil, fmt.Errorf("meet the other machine: %w", err)
	}
	defer func() { _ = listener.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = listener.(*net.TCPListener).SetDeadline(deadline) // it is open, so it can have one
	}
	conn, err := listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("meet the other machine: %w", err)
	}
	return &meet{conn}, nil
}

// await returns when both machines have called it.
func (m *meet) await() error {
	if m.conn == nil {
		return nil
	}
	_ = m.conn.SetDeadline(time.Now().Add(meetingTime)) // if it is closed, writing says so
	if _, err := m.conn.Write([]byte{1}); err != nil {
		return fmt.Errorf("meet the other machine: %w", err)
	}
	if _, err := m.conn.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("meet the other machine: %w", err)
	}
	return nil
}

// Close ends the meetings.
func (m *meet) Close() error {
	if m.conn == nil {
		return nil
	}
	return m.conn.Close()
}
