// Package perftest measures verbs between two ends: latency, bandwidth and message rate of every operation, as perftest
// does for libibverbs. The command weft perf is its face; a benchmark can call it as well.
//
// A client has a Plan and measures; a server answers. They agree by an Exchange, in rounds in which both sides speak at
// the same time: the plan, the addresses and spans, and then for each Run "ready" and "done". Data goes only over the
// queue pairs.
//
// # What is measured
//
// Latency of Write, Send and WriteImm is half of a ping-pong. Write polls the last byte of the message in memory, as
// ib_write_lat does; the others wait for a completion. Latency of Read and the atomics is from post to completion. A
// sample is one message; but where a round trip is below a microsecond, it is the mean of a batch, so that reading the
// clock (about 30 ns) does not count. Samples go to an HDR histogram with three digits.
//
// Bandwidth is from the first post to the last completion, over all threads. Afterwards the target's bytes are compared
// with what must be there.
//
// From the first message to the last, nothing is allocated.
package perftest
