package presence

import (
	"context"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// listen opens a port whose connections notice a silent host.
func listen(c Config) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: probes(c.KeepAlive)}
	config.SetMultipathTCP(false) // its sockets do not have all options
	return config.Listen(context.Background(), "tcp", c.Listen)
}

// probes makes the kernel ask an idle host four times in d whether it is there; it answers even for a stopped process.
// The kernel counts in seconds. How long it goes on asking is limitSilence's.
func probes(d time.Duration) net.KeepAliveConfig {
	every := max(d/4, time.Second).Truncate(time.Second)
	return net.KeepAliveConfig{Enable: true, Idle: every, Interval: every, Count: 100}
}

// limitSilence makes the kernel end a connection when nothing that was sent, probes included, was acknowledged for d. A
// socket too old for the option would still find out, only later.
func limitSilence(conn net.Conn, d time.Duration) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return // closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
}
