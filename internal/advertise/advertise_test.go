package advertise

import (
	"net"
	"net/netip"
	"testing"
)

func TestAnAddressOfOneStays(t *testing.T) {
	for _, at := range []string{"127.0.0.1:7", "10.0.0.1:7", "[::1]:7", "[fd00::2]:7", "host.example:7", "unix:/path", "unix:@name", "nonsense"} {
		if got := Address(at, at); got != at {
			t.Errorf("%s became %s", at, got)
		}
	}
}

// What stands for all addresses becomes one of them, with the port, and leads to the listener.
func TestAnAddressOfAllBecomesOne(t *testing.T) {
	for _, at := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Skip(err)
		}
		got := Address(at, l.Addr().String())
		where, err := netip.ParseAddrPort(got)
		if err != nil || where.Addr().IsUnspecified() || int(where.Port()) != l.Addr().(*net.TCPAddr).Port {
			t.Errorf("%s became %s: %v", at, got, err)
		}
		conn, err := net.Dial("tcp", got)
		if err != nil {
			t.Errorf("%s became %s: %v", at, got, err)
		} else if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheBestAddress(t *testing.T) {
	for _, c := range []struct {
		is6  bool
		of   []string
		want string
	}{
		{false, []string{"127.0.0.1", "::1", "fe80::1", "169.254.0.1", "0.0.0.0", "224.0.0.1"}, ""},
		{false, []string{"127.0.0.1", "fd00::2", "10.0.0.1", "10.0.0.2"}, "10.0.0.1"},
		{true, []string{"10.0.0.1", "fe80::1", "fd00::2"}, "fd00::2"},
		{true, []string{"10.0.0.1", "10.0.0.2"}, "10.0.0.1"},
		{false, []string{"fd00::1", "fd00::2"}, "fd00::1"},
		{false, []string{"::ffff:10.0.0.1"}, "10.0.0.1"},
	} {
		var list []netip.Addr
		for _, text := range c.of {
			list = append(list, netip.MustParseAddr(text))
		}
		if got, ok := best(list, c.is6); ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("of %q: %v, want %q", c.of, got, c.want)
		}
	}
}
