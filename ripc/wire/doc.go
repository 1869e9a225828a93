// Package wire is what the messages of ripc look like, as bytes. It is pure: it reads and writes, and knows no queue pair, no
// clock and no service.
//
// A message is a head of fixed size, then lists, then what is sent itself:
//
//	head, HeadSize bytes · sizes of the items · loans · returns · fills · releases · the items, one after the other
//
// All numbers are big-endian. Every list has at most MaxList entries. A message that is shorter or longer than its head and
// lists say is malformed; so nothing in it can name bytes outside it.
//
// What a message carries (libRIPC, section III.A):
//
//   - Items: bytes that lie in the message. A short send has these alone.
//   - Loans: memory at the sender, which the receiver may read until it is told otherwise. A long send has these.
//   - Returns: memory at the sender, which the receiver may write its answer to, once (figure 2).
//   - Fills: which of the returns of a request the answer has been written to, and how much.
//   - Releases: loans of the receiver's that the sender of this message has read, or does not want.
//
// Whether a loan, a return, a fill or a release means anything is for the end of a link to know: it remembers what it has
// lent, and to whom.
package wire
