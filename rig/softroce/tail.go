package main

import "bytes"

// tail keeps the end of what is written to it.
type tail struct {
	limit int // bytes
	kept  []byte
}

func (t *tail) Write(data []byte) (int, error) {
	t.kept = append(t.kept, data...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = bytes.Clone(t.kept[over:])
	}
	return len(data), nil
}
