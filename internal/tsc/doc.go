// Package tsc reads the processor's time stamp counter: the clock that perftest measures by. It counts at a constant rate on
// the processors of today, also where the system's clock is slow to read, as in a virtual machine that is emulated. How long
// a tick is has to be measured.
package tsc
