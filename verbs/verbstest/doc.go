// Package verbstest is the contract of Weft's verbs as a test suite. It runs on every provider, and what it says is
// what Weft promises.
//
// # Labs and ends
//
// A test speaks to ends. An [End] is a device with a domain, a completion queue and a loop; it may live in a goroutine of
// this process, in a child process or in a simulator. So a test never holds a verbs object. It sends commands, plain
// structs that gob can carry, and gets results. A [Lab] opens ends: [Goroutines] and [Simulated] make labs of a
// provider, [Serve] and [Child] put a lab at the other side of a pipe, and [Processes] makes labs whose ends are
// processes of their own, which are killed and stopped by real signals.
//
// No test sleeps. One that must wait names what it waits for (a [Condition]); the agent at that end looks after each
// turn of its loop, or, in a simulator, after each event. A limit turns a hang into a failure that names the condition.
//
// # Use
//
// A provider has a test like this, and passes:
//
//	func TestConformance(t *testing.T) {
//		verbstest.Run(t, func(tb verbstest.TB) verbstest.Lab {
//			return verbstest.Goroutines(verbstest.GoroutineConfig{
//				Open:         func() (driver.Device, error) { return soft.New(soft.Config{}) },
//				Capabilities: verbstest.Capabilities{Has: verbstest.SharedReceives | verbstest.Chains},
//			})
//		}, verbstest.Options{})
//	}
//
// A lane between processes runs the same tests in a crew of child processes, its test binary once more:
//
//	crew := verbstest.Processes(start, capabilities)
//	defer crew.Close()
//	verbstest.Run(t, crew.Lab, verbstest.Options{})
//
// A child that is idle again must hold no more descriptors, mappings and goroutines than before its first end.
//
// A test needs what its entry in [Tests] says; a lab that does not declare it skips the test by name. Tests of windows ask
// the device, and are skipped if it answers ErrNotSupported. [Outcome] runs one test and reports whether it passed: the
// suite is itself tested with providers that lie.
package verbstest
