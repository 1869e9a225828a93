package metrics_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/static"
	"github.com/weft-fabric/weft/ripc/metrics"
	"github.com/weft-fabric/weft/verbs"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func openNode(t *testing.T, r find.Resolver) *ripc.Node {
	t.Helper()
	nic, err := soft.New(soft.Config{})
	if err != nil {
		t.Fatal(err)
	}
	device, err := verbs.Open(nic)
	if err != nil {
		t.Fatal(err)
	}
	n, err := ripc.Open(ripc.Config{Device: device, Resolver: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(n.Close(), device.Close()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// gathered is what a registry tells, as name and value.
func gathered(r *prometheus.Registry) (map[string]float64, error) {
	families, err := r.Gather()
	all := make(map[string]float64)
	for _, f := range families {
		m := f.GetMetric()[0]
		all[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return all, err
}

func TestCollector(t *testing.T) {
	n := openNode(t, nil)
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(metrics.NewCollector(n, prometheus.Labels{"process": "store"})); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Register(context.Background(), "kv/3"); err != nil {
		t.Fatal(err)
	}
	b, err := n.Alloc(5000)
	if err != nil {
		t.Fatal(err)
	}
	all, err := gathered(r)
	if err != nil || len(all) != 12 || all["weft_ripc_services"] != 1 || all["weft_ripc_buffer_bytes"] != 8192 || all["weft_ripc_links"] != 0 {
		t.Errorf("%v: %v", all, err)
	}
	b.Release()
	if all, err = gathered(r); err != nil || all["weft_ripc_buffer_bytes"] != 0 {
		t.Errorf("%v: %v", all, err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := gathered(r); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a node that is closed: %v", err)
	}
}

// A call is counted at both ends.
func TestACallIsCounted(t *testing.T) {
	ctx := context.Background()
	there := openNode(t, nil)
	s, err := there.Register(ctx, "kv/3")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(ctx, 1, func(ctx context.Context, m *ripc.Message) error { return m.Answer(ctx) }) })
	defer serving.Wait()
	defer func() { _ = s.Close() }()
	table, err := static.New(map[string][]string{"kv/3": there.Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	here := openNode(t, table)
	m, err := here.Call(ctx, s.ID(), []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	for _, n := range []*ripc.Node{here, there} {
		r := prometheus.NewRegistry()
		r.MustRegister(metrics.NewCollector(n, nil))
		all, err := gathered(r)
		if err != nil || all["weft_ripc_messages_sent_total"] == 0 || all["weft_ripc_messages_received_total"] == 0 || all["weft_ripc_links"] != 1 {
			t.Errorf("%v: %v", all, err)
		}
	}
}
