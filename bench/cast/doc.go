// Package cast measures a multicast: one message to all members of a group, as often as asked for, with its contents
// compared everywhere. The command weft multicast is its face.
//
// One member leads: it is the root of the group, knows the Job, and has a session with every other member, which follow.
// Lead and Follow go through the same steps; in each of them all speak at once:
//
//	job       what is to be done, and as whom; followers say by which clock they tell the time
//	meet      where each waits for the others
//	members   where all do; then they meet each other
//	met       how that went
//	open      which lane is to be opened, as long as not all could open one
//	opened    how that went
//	tried     how it went when the root and member 1 tried out the lane, if the job leaves something open
//	chosen    what the root chooses for that: algorithm, block, stripes and credits
//	formed    the group is connected
//	ready     the next run may begin, or there is none
//	done      the message is complete here, and when it was
//	checked   its contents are right
//	verdict   somebody has failed; the root has heard all, and says who
//
// What a job leaves open is chosen by the cost model of package rdmc/tune, from what the trial shows: the latency of a few
// bytes, what a block costs beside its bytes, and the rate, unless Job.Rate says it. Report.Chosen tells. The trial sends at
// most a sixteenth of the message in one go, and stops when that takes long enough to tell the rate.
//
// Data goes only over the queue pairs of the group. Simulate does the same in one process, in virtual time.
//
// # What is measured
//
// A run's time is from the submission at the root to the completion at the last member. Members of one host, in whatever
// container, read the same clock; otherwise the time is the root's, when a member's word "done" reaches it, and the way of
// that word counts: Report.Clock tells. Memory was registered and touched before. The first of several runs warms up and
// does not count.
//
// Efficiency is the best possible time over the run's. No pattern of unicasts can take fewer than k + ⌈log₂ n⌉ − 1 steps
// of one block for k blocks to n members (RDMC, section 4.3), and a step takes as long as one block of a plain copy.
// That is taken from the links' rate if it is known (Job.Rate) and otherwise measured: one copy to member 1 alone. Members of
// one host share its cores: there no time is better than that of a plain copy for each receiver, by all cores at once.
package cast
