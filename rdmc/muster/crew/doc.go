// Package crew is the proof of packages rdmc and muster with real processes, on every lane: it has tests only.
//
// A test starts its own binary several times. Each child is a member: it opens a device, joins the mesh, makes groups and
// sends, as the orders say that it reads from its standard input, line by line as JSON. What happens to it, it reports the
// same way on its standard output. So a test can kill a member, stop it, or have it lie, and see what the others notice.
package crew
