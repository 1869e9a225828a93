package devices

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Numbers of the kernel's interface for data centre bridging (linux/dcbnl.h), which package unix does not have.
const (
	dcbMessage      = 4 // bytes: family, command, nothing
	dcbGetIEEE      = 21
	dcbInterface    = 1
	dcbIEEE         = 13
	dcbIEEEPriority = 2 // priority flow control
)

// FlowControl says for which of the eight priorities of an interface PFC (priority flow control) is on, a bit each. Many
// drivers do not tell, which is an error.
func FlowControl(link string) (priorities uint8, err error) {
	asked := question(unix.RTM_GETDCB, []byte{unix.AF_UNSPEC, dcbGetIEEE, 0, 0})
	answer, err := askKernel(appendAttribute(asked, dcbInterface, append([]byte(link), 0)))
	if err == nil {
		priorities, err = parseFlowControl(answer)
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the flow control of %s: %w", link, err)
	}
	return priorities, nil
}

// parseFlowControl reads an answer. What is looked for lies in an attribute within an attribute, and begins with how many
// priorities there may be at a time, and which there are.
func parseFlowControl(b []byte) (priorities uint8, err error) {
	_, attributes, err := parseAnswer(b, unix.RTM_GETDCB, dcbMessage)
	if err != nil {
		return 0, err
	}
	pfc := findAttribute(findAttribute(attributes, dcbIEEE), dcbIEEEPriority)
	if len(pfc) < 2 {
		return 0, unix.EOPNOTSUPP
	}
	return pfc[1], nil
}
