// Package stream makes connections of ripc: net.Conn and net.Listener whose other end is a service. Whatever is written against
// those runs on it unchanged:
//
//	l, err := stream.Listen(ctx, node, "hello")
//	…
//	go http.Serve(l, handler)
//
// and elsewhere
//
//	client := http.Client{Transport: &http.Transport{DialContext: stream.Dialer{Node: node}.DialContext}}
//	answer, err := client.Get("http://hello/")
//
// gRPC takes Dialer.Dial by grpc.WithContextDialer, with a target like "passthrough:///hello"; go-redis takes Dialer.DialContext
// by redis.Options.Dialer.
//
// # What is promised
//
// Bytes arrive once and in order, or the connection breaks, at both ends, with an error that is syscall.ECONNRESET. So it does when
// the process at the other end dies, which is noticed within about a second also by who only reads. A connection stays with
// the process that has accepted it: if the service moves, who dials again finds it.
//
// A service that this node knew and that is nowhere any more may be about to start elsewhere. So who dials it waits: for about two and a
// half seconds, if its context does not end before, and hears ripc.ErrNoService then. After that, and of a service that was never found,
// one hears it as soon as the resolver has said so. For net/http the context is that of the request, or http.Client.Timeout.
//
// Who dials a service that takes calls, and is no listener, hears so (ripc.ErrNoLine); a listener refuses calls that do not dial it, and what
// is sent to it.
//
// All connections between two processes go over one link, together with messages to services. A connection that is not read holds up
// neither the others nor those: its peer may send ahead by a window of bytes, and what has come waits in memory of its own. Nor does a
// slow service hold up connections, until so many are slow that receives come to an end: see package ripc. Write returns when the bytes are the
// program's again, Close when everything is with the other process, or after a second.
//
// # What is copied
//
// Less than 16 KiB are copied once to be sent, and once to who reads, or once more if nobody waits for them when they come. What is
// larger is copied to a buffer, unless io.Copy has read it there. The other process fetches it from there at once, in pieces of
// 512 KiB, and Read copies it out. Who has sent such a piece may for a while write the next ones to memory of the other process,
// without being asked; 64 connections of a process at a time take them so, in 2 MiB each.
package stream
