package devices

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// This file is how the kernel is asked about the network (rtnetlink). A message is a header, a struct that depends on the
// question, and attributes; each begins at a multiple of four bytes.

var order = binary.NativeEndian

const (
	messageHeader   = unix.SizeofNlMsghdr
	attributeHeader = unix.SizeofRtAttr
	maxAnswer       = 8192 // bytes
)

// question makes a request without attributes.
func question(kind uint16, body []byte) []byte {
	b := make([]byte, messageHeader, 128)
	order.PutUint16(b[4:], kind)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST)
	return append(b, body...)
}

func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = order.AppendUint16(b, uint16(attributeHeader+len(value)))
	b = order.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, -len(b)&3)...)
}

// askKernel carries a question to the kernel and its answer back.
func askKernel(question []byte) ([]byte, error) {
	order.PutUint32(question, uint32(len(question)))
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Sendto(fd, question, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, maxAnswer)
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT) // the kernel answers before Sendto returns
	return answer[:max(0, n)], err
}

var errAnswer = errors.New("the kernel's answer is not understood")

// parseAnswer takes an answer apart: the struct, whose size is known, and the attributes. The kernel may also answer with
// an error.
func parseAnswer(b []byte, kind uint16, size int) (body, attributes []byte, err error) {
	if len(b) < messageHeader+4 {
		return nil, nil, errAnswer
	}
	said, rest := order.Uint16(b[4:]), b[messageHeader:]
	switch failed := -int32(order.Uint32(rest)); {
	case said == unix.NLMSG_ERROR && failed > 0:
		return nil, nil, unix.Errno(failed)
	case said != kind || len(rest) < size:
		return nil, nil, errAnswer
	}
	return rest[:size], rest[size:], nil
}

// findAttribute returns the value of the first attribute of a kind, or nil.
func findAttribute(b []byte, kind uint16) []byte {
	for len(b) >= attributeHeader {
		size := int(order.Uint16(b))
		if size < attributeHeader || size > len(b) {
			return nil
		}
		if order.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return b[attributeHeader:size]
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return nil
}
