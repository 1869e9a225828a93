package delivery

import (
	"crypto/sha1"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
)

// A torrent is a description of a file, in bencode: numbers, strings, and dictionaries in the order of their keys.

type dictionary map[string]any

// bencode adds a value to text.
func bencode(text []byte, value any) []byte {
	switch v := value.(type) {
	case int:
		return append(strconv.AppendInt(append(text, 'i'), int64(v), 10), 'e')
	case string:
		return append(append(strconv.AppendInt(text, int64(len(v)), 10), ':'), v...)
	case dictionary:
		text = append(text, 'd')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text = bencode(bencode(text, key), v[key])
		}
		return append(text, 'e')
	}
	panic("bencode knows numbers, strings and dictionaries")
}

// torrent describes a file of so many bytes, cut into pieces.
func torrent(file io.Reader, name string, size, piece int, tracker string) ([]byte, error) {
	hashes, err := pieceHashes(file, piece)
	if err != nil {
		return nil, err
	}
	info := dictionary{"length": size, "name": name, "piece length": piece, "pieces": string(hashes)}
	return bencode(nil, dictionary{"announce": tracker, "info": info}), nil
}

// pieceHashes are one behind the other.
func pieceHashes(file io.Reader, piece int) (hashes []byte, err error) {
	b := make([]byte, piece)
	for {
		n, err := io.ReadFull(file, b)
		if errors.Is(err, io.EOF) {
			return hashes, nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		hash := sha1.Sum(b[:n])
		hashes = append(hashes, hash[:]...)
	}
}
