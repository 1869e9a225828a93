package source

import "github.com/weft-fabric/weft/push/manifest"

// Learn has a hasher believe that a block has a hash.
func Learn(h *Hasher, block int, hash manifest.Hash) { h.table.learn(block, hash) }

// Settle has a source look as if nobody had touched it shortly before its scan.
func Settle(s *Source) { s.settled = true }

// Settled reports whether the hashes of a source may be saved.
func Settled(s *Source) bool { return s.settled }

// Bounds of a cache.
const (
	MaxCached      = maxCached
	MaxCachedBytes = maxCachedBytes
)
