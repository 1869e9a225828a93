// Package hook wraps any driver.Device: it counts what passes, traces it, or breaks it on purpose.
//
// Each hook takes a device and returns one, so they nest:
//
//	device, counter := hook.Count(hook.Fault(inner, hook.Plan{Rules: []hook.Rule{
//		{Op: driver.OpWrite, Nth: 3, Fail: driver.RetryExceeded},
//	}}))
//	// … run a program on device …
//	fmt.Print(counter.Snapshot())
//
// A wrapped object offers an optional capability (driver.Waiter, driver.Allocator, …) exactly when the object inside
// does, so a program behaves on a wrapped device as on the bare one. Wrapped objects that are handed back in, such as
// the completion queue in a driver.QueueConfig, must come from the same wrapped device.
//
// Count and Trace allocate nothing from post to completion. Fault is made for tests; it promises only to be
// deterministic: the same calls in the same order meet the same faults.
package hook
