// Package native is libibverbs in Go: one thin function for each verb that Weft uses, and the C memory that work requests and completions
// lie in. It is the only package that imports "C".
//
// The library is loaded at run time ([Load]), with declarations of our own (abi.h), so that building needs no RDMA headers and one binary
// runs with and without it. A binary built without cgo cannot load it; everything here then fails with [ErrNoCgo].
//
// Posting a list and polling a batch are one call into C each. Nothing is allocated, and no Go pointer goes to C, on that path. A call
// costs 26 ns (BenchmarkCall, Go 1.26, on two processors of an AMD EPYC in a virtual machine). In the emulated machine of make test-roce it
// is 0.4 µs: a third of a poll that finds nothing (1.3 µs for eight looks), and with two calls a fortieth of a Write of 8 bytes over
// Soft-RoCE from post to completion (37 µs; in lists of 16 it is 18 µs; BenchmarkPollNothing and BenchmarkWrite of package ibv).
package native
