package soft

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

func checkTLS(*tls.Config) error { return nil }

func (d *Device) serveTLS(c net.Conn) (net.Conn, error) { return c, nil }

func (d *Device) dialTLS(_ context.Context, c net.Conn, _ address) (net.Conn, error) { return c, nil }

func takePipe(c net.Conn, timeout time.Duration) (pipe, int, error) {
	fd, err := takeSocket(c, timeout)
	if err != nil {
		return nil, 0, err
	}
	return &socket{fd: fd}, fd, nil
}
