package presence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A greeting is a mark and a version.
const (
	mark         = "WEFTide"
	version      = 1
	greetingSize = len(mark) + 1
)

var errNoGreeting = errors.New("who answers there is not an office of Weft")

func greeting() []byte { return append([]byte(mark), version) }

func readGreeting(r io.Reader) error {
	var b [greetingSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return err
	}
	if string(b[:len(mark)]) != mark {
		return errNoGreeting
	}
	if v := b[len(mark)]; v != version {
		return fmt.Errorf("the peer's office speaks version %d, this is version %d: use the same Weft at both ends", v, version)
	}
	return nil
}

type kind uint8

const (
	subscribe   kind = 1 + iota // watcher to office: tell me when the name ends
	unsubscribe                 // watcher to office: do not tell me any more
	here                        // office to watcher: the name exists
	gone                        // office to watcher: the name has ended, or never was
	heard                       // both: so many messages of yours were read since the last time
)

// message is a kind and the name that it is about, or the count if it is heard.
type message struct {
	kind  kind
	value uint64
}

const messageSize = 1 + 8

func appendMessage(b []byte, m message) []byte {
	return binary.LittleEndian.AppendUint64(append(b, byte(m.kind)), m.value)
}

func readMessage(r io.Reader) (message, error) {
	var b [messageSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return message{}, err
	}
	m := message{kind(b[0]), binary.LittleEndian.Uint64(b[1:])}
	if m.kind < subscribe || m.kind > heard {
		return m, fmt.Errorf("a message of the unknown kind %d", m.kind)
	}
	return m, nil
}

// misplaced is a message that this end may not get.
func misplaced(m message) error { return fmt.Errorf("a message of kind %d from the wrong end", m.kind) }
