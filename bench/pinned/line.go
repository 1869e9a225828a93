package pinned

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Patience is how long the parent waits for a report before it takes the role for stuck.
const Patience = 30 * time.Second

// Line is the connection between a role and its parent.
type Line struct {
	in      *os.File
	decoder *json.Decoder
	encoder *json.Encoder
	limit   time.Duration // 0: wait forever
}

func newLine(in, out *os.File, limit time.Duration) Line {
	return Line{in, json.NewDecoder(in), json.NewEncoder(out), limit}
}

// Send gives the other side a value.
func (l *Line) Send(v any) error {
	if err := l.encoder.Encode(v); err != nil {
		return fmt.Errorf("send %T: %w", v, err)
	}
	return nil
}

// Receive waits for the other side's next value. A role waits as long as its parent lives, the parent for Patience.
func (l *Line) Receive(v any) error {
	if l.limit > 0 {
		if err := l.in.SetReadDeadline(time.Now().Add(l.limit)); err != nil {
			return err
		}
	}
	if err := l.decoder.Decode(v); err != nil {
		return fmt.Errorf("receive %T: %w", v, err)
	}
	return nil
}
