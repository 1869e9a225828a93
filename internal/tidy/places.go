package tidy

import (
	"go/ast"
	"go/token"
)

// mayStart is where goroutines may live. Each of them has an owner there that waits for it.
var mayStart = words("loop connect/... rdmc/muster provider/soft/... provider/ibv/... internal/oneport push push/member push/source push/target push/way agent ripc ripc/find/... ripc/stream resp web",
	"cmd/... examples/... bench/... rig/... simtest/... verbs/verbstest/...")

// checkGoroutines reports goroutines where none may live: go statements, and the calls that hide one.
func checkGoroutines(f *file, report report) {
	if f.test || matches(mayStart, f.pkg) {
		return
	}
	const text = "%s starts a goroutine in %s: the loop is the unit of concurrency, so only its neighbours may"
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), text, "a go statement", f.pkg)
		case *ast.CallExpr:
			// sync.WaitGroup and errgroup.Group start one with a method of this name.
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Go" && len(n.Args) == 1 {
				report(n.Pos(), text, "a Go method", f.pkg)
			}
		}
		return true
	})
	checkUses(f, "time", words("AfterFunc"), func(at token.Pos, _ string) { report(at, text, "time.AfterFunc", f.pkg) })
}

// timeless is who is told the time, or lives in a time of its own.
var timeless = words("quorum breakdown rdmc rdmc/schedule ripc/link ripc/wire mu/... bcast swarm provider/sim/...")

// checkClocks reports where timeless packages look at the machine's clock. Durations are fine.
func checkClocks(f *file, report report) {
	if f.test || !matches(timeless, f.pkg) {
		return
	}
	names := words("Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker")
	checkUses(f, "time", names, func(at token.Pos, name string) {
		report(at, "time.%s in %s: it is told the time by its loop, so that simulated runs repeat", name, f.pkg)
	})
}
