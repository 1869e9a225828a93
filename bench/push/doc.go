// Package push measures weft push from its beginning to its end: the work of `weft bench push`. It prints each ratio beside what it must
// reach and what the last recorded run had, and keeps everything as JSON.
//
// On limited links between hosts that are made for it (package delivery: needs root) a file goes from memory to memory, hashed, verified and
// committed on the way, beside weft multicast, which only moves bytes; beside rsync, BitTorrent and udpcast; with an agent that is killed,
// with a slow link, and once more when there is nothing to do. On one host it is about processors: what a relay takes of them, and what it
// takes until 64 agents are connected.
package push
