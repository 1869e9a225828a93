//go:build !weftpause

package soft

// pausing is whether this build stops itself inside gates, for tests.
const pausing = false

func pause(string) {}
