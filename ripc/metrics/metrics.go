// Package metrics tells Prometheus what a ripc node does. It is apart so that programs without Prometheus do not carry it.
//
//	prometheus.MustRegister(metrics.NewCollector(node, prometheus.Labels{"process": "store"}))
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-fabric/weft/ripc"
)

// Collector is a prometheus.Collector of one node. It asks the node when it is asked.
type Collector struct {
	node   *ripc.Node
	values []value
}

// value is one that is told.
type value struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*ripc.Stats) float64
}

// NewCollector makes a collector. Labels tell the nodes of a process apart, if there are several; they may be nil.
func NewCollector(node *ripc.Node, labels prometheus.Labels) *Collector {
	c := &Collector{node: node}
	add := func(kind prometheus.ValueType, name, help string, of func(*ripc.Stats) float64) {
		c.values = append(c.values, value{prometheus.NewDesc("weft_ripc_"+name, help, nil, labels), kind, of})
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	add(counter, "messages_sent_total", "Messages sent to other processes, words between links included.",
		func(s *ripc.Stats) float64 { return float64(s.Sent) })
	add(counter, "messages_received_total", "Messages from other processes, words between links included.",
		func(s *ripc.Stats) float64 { return float64(s.Received) })
	add(counter, "words_sent_total", "Messages that carried credits and releases only.",
		func(s *ripc.Stats) float64 { return float64(s.Words) })
	add(counter, "messages_dropped_total", "Messages sent with Drop that nobody was ready for.",
		func(s *ripc.Stats) float64 { return float64(s.Dropped) })
	add(counter, "copied_bytes_total", "Bytes that were copied to be sent, because they did not lie in registered memory.",
		func(s *ripc.Stats) float64 { return float64(s.Copied) })
	add(counter, "pulled_bytes_total", "Bytes of long messages that were read from other processes.",
		func(s *ripc.Stats) float64 { return float64(s.Pulled) })
	add(counter, "filled_bytes_total", "Bytes of answers that were written to return buffers of other processes.",
		func(s *ripc.Stats) float64 { return float64(s.Filled) })
	add(counter, "peers_refused_total", "Processes whose link was ended because they broke the protocol.",
		func(s *ripc.Stats) float64 { return float64(s.Refused) })
	add(gauge, "messages_waiting", "Messages that other processes, or services there, have no room for yet.",
		func(s *ripc.Stats) float64 { return float64(s.Waiting) })
	add(gauge, "services", "Services of this node, members of groups included.",
		func(s *ripc.Stats) float64 { return float64(s.Services) })
	add(gauge, "links", "Links to other processes.",
		func(s *ripc.Stats) float64 { return float64(s.Links) })
	add(gauge, "buffer_bytes", "Bytes of buffers that were not released.",
		func(s *ripc.Stats) float64 { return float64(s.Lent) })
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, v := range c.values {
		out <- v.desc
	}
}

// Collect implements prometheus.Collector. A node that is closed tells its error, in place of each value.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s, err := c.node.Stats()
	for _, v := range c.values {
		if err != nil {
			out <- prometheus.NewInvalidMetric(v.desc, err)
			continue
		}
		out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.of(&s))
	}
}
