package devices

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// flowAnswer is what a driver says for which PFC is on for some priorities.
func flowAnswer(priorities byte) []byte {
	ieee := appendAttribute(nil, 1, make([]byte, 59)) // of another kind, and of a length that has to be filled up
	ieee = appendAttribute(ieee, dcbIEEEPriority, append([]byte{8, priorities}, make([]byte, 134)...))
	b := question(unix.RTM_GETDCB, []byte{unix.AF_UNSPEC, dcbGetIEEE, 0, 0})
	b = appendAttribute(b, dcbInterface, []byte("eth2\x00"))
	return appendAttribute(b, dcbIEEE|unix.NLA_F_NESTED, ieee)
}

func TestFlowControl(t *testing.T) {
	if got, err := parseFlowControl(flowAnswer(1 << 3)); err != nil || got != 1<<3 {
		t.Errorf("%08b, %v", got, err)
	}
	none := question(unix.RTM_GETDCB, make([]byte, dcbMessage))
	if _, err := parseFlowControl(none); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("an answer without it: %v", err)
	}
	if _, err := parseFlowControl(nil); !errors.Is(err, errAnswer) {
		t.Errorf("no answer: %v", err)
	}
}

// The loopback interface has no flow control, and the kernel says so; an interface that does not exist is another error.
func TestFlowControlOfLoopback(t *testing.T) {
	if priorities, err := FlowControl("lo"); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("%08b, %v", priorities, err)
	}
	if _, err := FlowControl("weft-none"); err == nil || errors.Is(err, errAnswer) {
		t.Error(err)
	}
}

func FuzzFlowControl(f *testing.F) {
	f.Add(flowAnswer(0x55))
	f.Add(flowAnswer(0)[:30])
	f.Fuzz(func(t *testing.T, b []byte) {
		if priorities, err := parseFlowControl(b); err != nil && priorities != 0 {
			t.Errorf("%08b with %v", priorities, err)
		}
	})
}
