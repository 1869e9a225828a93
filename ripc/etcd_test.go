//go:build !race

package ripc

import (
	"context"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/etcd"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
)

func init() {
	startEtcd = func(t *testing.T) string {
		t.Helper()
		s, err := embedded.Start(patient(t), embedded.Config{Folder: t.TempDir(), Careless: true})
		check(t, err)
		t.Cleanup(func() { check(t, s.Close()) })
		return s.Endpoint()
	}
	openEtcd = func(where string) (find.Resolver, error) {
		return etcd.Open(context.Background(), etcd.Config{Endpoints: []string{where}, TTL: time.Second})
	}
}
