// Package muster makes the groups of package rdmc between processes that have met in a mesh, and gathers what survivors of
// a failure hold. One group or a thousand are made in one go:
//
//	plans := []muster.Plan{{Config: rdmc.Config{Name: "images", Incoming: memory, Completed: arrived, Failed: ended}}}
//	groups, err := muster.Create(ctx, m, loop, domain, plans)
//	if err != nil {
//		return err // nothing is left behind, here and at the others
//	}
//	defer muster.Close(ctx, groups)
//	err = groups[0].Do(ctx, func(g *rdmc.Group) error { _, err := g.Send(place, size); return err })
//
// The loop must run in a goroutine of its own (Start): Create and Close wait for it.
//
// # When a member has failed
//
// Every survivor hears of it by Config.Failed. Then each of them mends the group, in a goroutine that is not the loop's:
//
//	mended, err := muster.Mend(ctx, m, group)    // and whatever complete messages the program still has
//	if err != nil {
//		return err
//	}
//	m, group = mended.Mesh, mended.Group
//
// The new group finishes what was under way, from what its members hold, before anything else: its Completed says so. What
// nobody holds any more is in mended.Lost. The program examples/cast does all of this.
//
// A program that wants something else, such as another root or several groups at once, takes the same steps itself:
// mesh.Without for the same survivors everywhere, Gather for what they hold, Create with Config.Unfinished.
package muster
