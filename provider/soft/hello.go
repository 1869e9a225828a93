package soft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Who dials says hello: which queue pair it is, and which one it wants. The other answers when that one has called
// Connect too, or says why not. Both begin with the same mark and a version, so that whoever speaks something else, or
// another version, is told so.
//
//	hello:  mark, version, length of the text, send depth, device, number and epoch of who is called, proof, caller's address
//	answer: mark, version, length of the text, send depth, proof, why not; without a text, it is a yes
const (
	wireMark    = 0x54464557 // WEFT
	wireVersion = 4
	helloSize   = 4 + 2 + 2 + 4 + 8 + 4 + 4 + len(proof{})
	answerSize  = 4 + 2 + 2 + 4 + len(proof{})
	maxReason   = 512
)

// hello is what who dials says.
type hello struct {
	depth uint32
	to    lifeName
	proof proof   // that the caller knows the secret of who is called
	from  address // without its secret
}

func (h *hello) text() []byte {
	from := h.from.String()
	le := binary.LittleEndian
	b := le.AppendUint32(nil, wireMark)
	b = le.AppendUint16(b, wireVersion)
	b = le.AppendUint16(b, uint16(len(from)))
	b = le.AppendUint32(b, h.depth)
	b = le.AppendUint64(b, uint64(h.to.device))
	b = le.AppendUint32(b, h.to.number)
	b = le.AppendUint32(b, h.to.epoch)
	b = append(b, h.proof[:]...)
	return append(b, from...)
}

var errNoHello = errors.New("what was said is not a hello of Weft")

// versionError is a peer of another version.
type versionError struct{ theirs uint16 }

func (e versionError) Error() string {
	return fmt.Sprintf("the peer speaks version %d of the TCP lane, this is version %d: use the same Weft at both ends",
		e.theirs, wireVersion)
}

// readHello reads exactly a hello.
func readHello(r io.Reader) (h hello, err error) {
	var b [helloSize]byte
	if err := readFront(r, b[:]); err != nil {
		return h, err
	}
	le := binary.LittleEndian
	if h.depth, err = checkDepth(le.Uint32(b[8:])); err != nil {
		return h, err
	}
	h.to = lifeName{identity(le.Uint64(b[12:])), le.Uint32(b[20:]), le.Uint32(b[24:])}
	h.proof = proof(b[28:])
	text, err := readText(r, le.Uint16(b[6:]), driver.MaxAddress)
	if err != nil {
		return h, err
	}
	if h.from, err = parseAddress(driver.Address(text)); err == nil && h.from.secret != (secret{}) {
		err = errors.New("a hello that tells its secret")
	}
	return h, err
}

// readFront reads the fixed front of a hello or an answer, after its mark and version.
func readFront(r io.Reader, b []byte) error {
	const versioned = 6
	if _, err := io.ReadFull(r, b[:versioned]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b) != wireMark {
		return errNoHello
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != wireVersion {
		return versionError{v}
	}
	_, err := io.ReadFull(r, b[versioned:])
	return err
}

func readText(r io.Reader, n, most uint16) (string, error) {
	if n > most {
		return "", fmt.Errorf("a text of %d bytes, longest is %d", n, most)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return string(b), err
}

func checkDepth(depth uint32) (uint32, error) {
	if depth == 0 || depth > maxDepth {
		return 0, fmt.Errorf("a send depth of %d, want 1 to %d", depth, maxDepth)
	}
	return depth, nil
}

// answerText is the answer to a hello: that it was met, if why is nil, or why not.
func answerText(depth uint32, p proof, why error) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, wireMark)
	b = le.AppendUint16(b, wireVersion)
	if why == nil {
		b = le.AppendUint16(b, 0)
		return append(le.AppendUint32(b, depth), p[:]...)
	}
	reason := why.Error()
	reason = reason[:min(len(reason), maxReason)]
	b = le.AppendUint16(b, uint16(len(reason)))
	b = le.AppendUint32(b, 0)
	b = append(b, make([]byte, len(p))...)
	return append(b, reason...)
}

// readAnswer reads exactly an answer, and returns the depth of who was met, and what that proves.
func readAnswer(r io.Reader) (depth uint32, p proof, err error) {
	var b [answerSize]byte
	if err := readFront(r, b[:]); err != nil {
		return 0, p, err
	}
	le := binary.LittleEndian
	if n := le.Uint16(b[6:]); n != 0 {
		reason, err := readText(r, n, maxReason)
		if err != nil {
			return 0, p, err
		}
		return 0, p, fmt.Errorf("the peer refused: %q", reason)
	}
	depth, err = checkDepth(le.Uint32(b[8:]))
	return depth, proof(b[12:]), err
}
