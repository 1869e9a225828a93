//go:build race

package verbstest

// RaceDetector says whether this binary was built with the race detector, for labs that lower their budgets then.
const RaceDetector = true
