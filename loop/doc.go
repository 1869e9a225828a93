// Package loop steps protocol machines with completions. A loop is the unit of concurrency: it owns one completion
// queue, the queue pairs that report to it, and the machines that use them. None of those needs a lock, because only
// one goroutine at a time runs the loop: its own (Start), the caller's (Run, or the blocking verbs of [Blocking]), one of
// many that wait ([Shared]), or, in a simulator, the simulator's.
//
// A machine is told what has ended, and does three things: post, read and write its own memory, ask for timers. It
// reads no clock, starts no goroutine and blocks nowhere, so it runs the same on every device.
//
// One turn of the loop: run what other goroutines handed over (Do), step machines with completions, and flush what was
// staged, with one doorbell for each queue pair; then step machines with timers, let scanners look at memory that peers
// write without notice, and flush again. A turn has one time, and reads the clock only if somebody asks for it.
package loop
