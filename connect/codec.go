package connect

import "encoding/binary"

// maxText bounds names in a greeting, and the Step of a card, in bytes.
const maxText = 128

// appendText writes a string with its length in two bytes.
func appendText(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(text))), text...)
}
