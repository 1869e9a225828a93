// Package presence tells an idle end of an RDMA connection that its peer is gone. NICs do not: a queue pair that posts
// nothing never learns that the other one was closed, was reset, failed, or died with its process.
//
// Each process has an [Office], a TCP port, and says there which of its queue pairs exist. A peer watches a queue pair
// by its [Name] at its office, and is called when that has been found there, and when it ends or the office's process does:
//
//	office, err := presence.Open(presence.Config{})
//	office.Register(mine)                 // before the name travels to the peer, beside office.Port()
//	…
//	watch := office.Watch(theirs, at, func(word presence.Word) { pair.hear(word) })
//	…
//	watch.Stop()
//	office.End(mine)
//
// # What counts as gone
//
// A queue pair whose office says so, or does not know it. Every queue pair of an office whose connection ended, or where
// nobody listens: the kernel closes a dead process's sockets at once. Every one on a host that has been silent for
// Config.KeepAlive, which the kernels find out between themselves.
//
// A process that is merely stopped is not gone, so nobody here waits for a process with a clock: there are no
// heartbeats, and no deadlines for reading. An office that cannot be reached, because of a firewall or a missing
// route, says nothing about its process either: that is logged and told once, and tried again as long as somebody
// watches.
//
// # The wire
//
// A watcher has one connection to each office. Both ends begin with a greeting of eight bytes, the office when it has
// heard a first message; then come messages of nine, a kind and a number, little-endian:
//
//	watcher → office:  subscribe(name), unsubscribe(name)
//	office → watcher:  here(name), at once for each subscription, if the name is known; gone(name), once, when it ends,
//	                   or at once if it is unknown
//	both:              heard(count): so many of your messages were read
//
// An end sends at most 1024 messages that the peer has not heard. So what waits for a stopped process fits its socket's
// buffer, and a full buffer, which TCP_USER_TIMEOUT would take for silence, does not happen to honest ends.
//
// # Trust
//
// Anybody may dial an office. Who does not know a name learns nothing and takes little: a stranger's messages are
// answered up to a bound and then cut off, and when there are too many visitors, the oldest that watches nothing goes.
package presence
