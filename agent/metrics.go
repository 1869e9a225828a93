package agent

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-fabric/weft/push/control"
)

// metrics is what Prometheus is told.
type metrics struct {
	pushes, finished        prometheus.Counter
	received, sent, written prometheus.Counter
	failures                *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer, open, memory func() int) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "weft_agent_" + name, Help: help})
	}
	gauge := func(name, help string, of func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weft_agent_" + name, Help: help}, func() float64 { return float64(of()) })
	}
	m := &metrics{
		pushes:   counter("pushes_total", "Pushes that were opened."),
		finished: counter("pushes_finished_total", "Pushes that were verified and committed."),
		received: counter("received_bytes_total", "Bytes of blocks that came, their headers included."),
		sent:     counter("sent_bytes_total", "Bytes of blocks that were passed on to other hosts."),
		written:  counter("written_bytes_total", "Bytes of files that were written."),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weft_agent_push_failures_total", Help: "Pushes that have failed, by class."}, []string{"class"}),
	}
	if registry == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.pushes, m.finished, m.received, m.sent, m.written, m.failures,
		gauge("sessions", "Pushes that are under way.", open), gauge("memory_bytes", "Bytes of the memory for blocks that are in use.", memory)} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("agent: metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) failed(class control.Class) { m.failures.WithLabelValues(string(class)).Inc() }
