package machine

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
)

// unpack makes a program of a kernel image that unpacks itself: in emulation that alone takes seconds. Images that it does
// not understand stay as they are, and boot too.
func unpack(ctx context.Context, image string) error {
	data, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	packed := payload(data)
	if !bytes.HasPrefix(packed, []byte("\xfd7zXZ\x00")) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "xz", "--decompress", "--single-stream", "--stdout")
	cmd.Stdin = bytes.NewReader(packed)
	program, err := cmd.Output()
	if err != nil || !bytes.HasPrefix(program, []byte("\x7fELF")) {
		return ctx.Err() // without xz it takes longer
	}
	return os.WriteFile(image, program, 0o644)
}

// payload returns what follows the loader of an image, from its packed program on, or nil. Numbers and places are those of
// the x86 boot protocol, version 2.08.
func payload(image []byte) []byte {
	const sectors, magic, offset, header = 0x1f1, 0x202, 0x248, 0x250
	if len(image) < header || string(image[magic:magic+4]) != "HdrS" {
		return nil
	}
	at := (int(image[sectors])+1)*512 + int(binary.LittleEndian.Uint32(image[offset:]))
	if at > len(image) {
		return nil
	}
	return image[at:]
}
