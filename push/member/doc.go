// Package member is one end of the groups of a push: it joins rdmc, which moves blocks between registered memory, with an owner who
// checks blocks, keeps them, and has those that are to be sent. It knows no file.
//
// A Member has memory that is made once. Its groups follow each other: Form, Connect, Begin, then at the root Send for each stream, and
// End. What came of them is told by Group.Notify.
//
//	arrived ──▶ Check ──▶ passed on to others ──▶ its memory is free when both are done
//	              └─────▶ Keep ───────────────────┘
//
// Where the owner is slow to keep blocks, memory runs out, no credit is given for more, and the group waits: Stats.Full says for how long.
package member
