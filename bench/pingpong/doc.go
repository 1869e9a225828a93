// Package pingpong plays with ibv_rc_pingpong, the example program that comes with libibverbs: Weft and a foreign RDMA
// program understand each other if both count the same number of messages.
//
// The two meet on a TCP connection, on which each tells the other where its queue pair is, in a line of hexadecimal
// numbers. The client, which has called, begins:
//
//	client                                  server
//	lid:qpn:psn:gid NUL  ────────────────▶  connects its queue pair
//	                     ◀────────────────  lid:qpn:psn:gid NUL
//	"done" NUL           ────────────────▶
//	connects its queue pair
//	Send                 ────────────────▶
//	                     ◀────────────────  Send, and so on: as many as both were told on their command lines
//
// Neither size nor number of the messages is in the exchange, so both sides have to be told the same.
package pingpong
