package lan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// sockets are the two of a resolver: one that hears what is said to all, and one of its own, that speaks, and hears what is said
// to it alone.
type sockets struct {
	group netip.AddrPort
	all   *net.UDPConn
	own   *net.UDPConn
}

// openSockets joins the group on an interface; on the one that the system chooses if that has no name.
func openSockets(group netip.AddrPort, interfaceName string) (*sockets, error) {
	index := 0
	if interfaceName != "" {
		i, err := net.InterfaceByName(interfaceName)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", interfaceName, err)
		}
		index = i.Index
	}
	s := &sockets{group: group}
	var err error
	if s.all, err = listen(group.String(), func(fd int) error { return join(fd, group, index) }); err != nil {
		return nil, hint(err)
	}
	if s.own, err = listen("0.0.0.0:0", func(fd int) error { return speak(fd, index) }); err != nil {
		return nil, errors.Join(hint(err), s.all.Close())
	}
	return s, nil
}

// hint says what to do where the system has no interface to choose.
func hint(err error) error {
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENETUNREACH) {
		return fmt.Errorf("%w: there is no route for multicasts, so name an interface", err)
	}
	return err
}

// join hears the group, beside other processes of this host.
func join(fd int, group netip.AddrPort, index int) error {
	return errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP,
			&unix.IPMreqn{Multiaddr: group.Addr().As4(), Ifindex: int32(index)}),
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0)) // only what was joined here
}

// speak sends to the group: no farther than this network, and to other processes of this host as well.
func speak(fd, index int) error {
	return errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, 1),
		unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(index)}))
}

// listen opens a socket, with options that are set before it is bound.
func listen(address string, set func(fd int) error) (*net.UDPConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) { err = set(int(fd)) }), err)
	}}
	conn, err := config.ListenPacket(context.Background(), "udp4", address)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// send sends a datagram to one, or to all. A network that is down or full loses it, as it may lose any.
func (s *sockets) send(to netip.AddrPort, b []byte) error {
	if to == everybody {
		to = s.group
	}
	_, err := s.own.WriteToUDPAddrPort(b, to)
	return err
}

func (s *sockets) close() error { return errors.Join(s.all.Close(), s.own.Close()) }
