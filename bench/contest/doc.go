// Package contest is the frame of a benchmark that compares Weft with what a program would take instead: pairs of samples,
// taken in turn, and the median of their ratios; a table with bounds and with the last recorded run beside; a look at whether
// anybody else used the machine meanwhile.
package contest
