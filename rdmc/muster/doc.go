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
// Every survivor hears of it by Config.Failed. Then, in a goroutine that is not the loop's, each of them does this:
//
//	m, err = m.Without(ctx, dead...)                            // the same survivors everywhere
//	remains, err := muster.Gather(ctx, m, m.Members(), held)    // what all of them hold
//	plan.Ranks, plan.Unfinished = m.Members(), remains.Unfinished
//	again, err := muster.Create(ctx, m, loop, domain, []muster.Plan{plan})
//
// where held is what Group.Holdings says, and whatever complete messages the program still has. The failed group is closed
// when the new one has Completed what was unfinished: messages of one block lie in its buffers. If one of these calls fails
// because another member has died meanwhile, they begin again with Without (mesh.Failed says whom the error names, and
// mesh.ErrRegroup that somebody else has begun).
package muster
