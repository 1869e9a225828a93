package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// How patient the server of metrics is.
const (
	metricsPatience = 10 * time.Second
	metricsAtOnce   = 4 // requests
)

// serveMetrics serves what a registry knows, until the returned function is called. Without an address it does nothing.
func serveMetrics(address string, registry *prometheus.Registry, log *slog.Logger) (end func() error, err error) {
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if address == "" {
		return func() error { return nil }, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: metricsAtOnce, Timeout: metricsPatience}))
	server := &http.Server{Handler: mux, ReadTimeout: metricsPatience, WriteTimeout: 2 * metricsPatience, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	log.Info("metrics are served", "address", listener.Addr().String())
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		failed := server.Shutdown(ctx)
		if errors.Is(failed, context.DeadlineExceeded) { // somebody reads slowly, and need not be waited for
			failed = server.Close()
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			failed = errors.Join(failed, err)
		}
		return failed
	}, nil
}
