// Package pinned runs the parts of a benchmark in processes of their own, each on one core.
//
// A program names its roles and calls Main first. One and Two run the same program again as one or two of them, pinned
// from the first instruction on, so that everything in it, the Go runtime included, stays on that core. Parent and role
// talk in JSON over pipes: the parent orders, the role reports.
//
//	pinned.Main(map[string]pinned.Role{"count": count}) // in a process that is a role this does not return
//	err := pinned.One("count", func(p *pinned.Process) error {
//		return errors.Join(p.Send(1000), p.Receive(&seconds))
//	})
package pinned
