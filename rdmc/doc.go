// Package rdmc is reliable multicast of large messages: a group of members, of which the first, the root, sends, and the
// others receive and pass on (RDMC, "Pushing Bytes"). A message is cut into blocks, and blocks travel in a pattern of
// unicasts that every member computes for itself (package schedule), so that all links are busy in both directions and
// all members finish nearly together, in hardly more time than one copy takes.
//
// # What is promised
//
// Messages of a group arrive in the order in which they were sent, whole, once, with their exact size, from 0 bytes on.
// Completed is local: the message is here and was passed on, and its memory is free to be used again; others may still be
// receiving, or have failed.
//
// A failure is reported once at every surviving member, within a bounded time, and names who failed as far as is known.
// After it nothing is called and nothing touches memory. Groups without the failed member notice nothing. Survivors can
// form a new group and finish what was under way from what they hold: muster.Mend does it, with
// Config.Unfinished and Group.Holdings.
//
// Members reach each other's memory only through Sends into receives that were posted: nobody holds a key to anybody's
// memory. Whatever a member sends, it can end groups that it belongs to, and nothing else.
//
// # Who calls what
//
// A Group is a Machine of a loop; many groups share one. All its methods are called on the loop: before it is started,
// from callbacks, or by loop.Do. Callbacks run on the loop too, must not block, and may call every method but Discard.
package rdmc
