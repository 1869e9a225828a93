// Package pinned runs the parts of a benchmark in processes of their own, each on one core.
//
// A program names its roles and calls Main first. Start runs the same program again as one of them, pinned from its
// first instruction on, so that everything in it, the Go runtime included, stays on that core. The two talk in JSON
// over pipes: the parent orders, the role reports.
//
//	pinned.Main(map[string]pinned.Role{"count": count}) // in a process that is a role this does not return
//	p, err := pinned.Start("count", core)
//	err = errors.Join(p.Send(1000), p.Receive(&seconds), p.Close())
package pinned
