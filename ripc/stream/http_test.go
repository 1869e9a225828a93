package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/ripc"
)

// serveHTTP runs net/http's own server on a service called "there" until the test ends.
func serveHTTP(t testing.TB, n *ripc.Node, handler http.Handler) {
	l, err := Listen(patient(t), n, "there")
	check(t, err)
	server := &http.Server{Handler: handler}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		check(t, server.Shutdown(context.Background()))
		done.Wait()
	})
}

// clientHTTP is net/http's own client.
func clientHTTP(t testing.TB, n *ripc.Node) *http.Client {
	transport := &http.Transport{DialContext: Dialer{Node: n}.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// shop gives away as many bytes as it is asked for, and takes what it is given.
func shop(stock []byte) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{size}", func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.PathValue("size"))
		_, _ = w.Write(stock[:size])
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	return mux
}

func TestHTTPRunsUnchanged(t *testing.T) {
	dir := t.TempDir()
	stock := random(8 << 20)
	serveHTTP(t, newNode(t, dir), shop(stock))
	client := clientHTTP(t, newNode(t, dir))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, size := range []int{0, 1, 1 << 10, 100_000, 1 << 20, len(stock)} {
				get(t, client, fmt.Sprint("http://there/", size), stock[:size])
				post(t, client, "http://there:80/", stock[:size/8])
			}
		})
	}
	all.Wait()
}

func get(t testing.TB, client *http.Client, url string, want []byte) {
	answer, err := client.Get(url)
	expect(t, answer, err, want)
}

func post(t testing.TB, client *http.Client, url string, body []byte) {
	answer, err := client.Post(url, "application/octet-stream", bytes.NewReader(body))
	expect(t, answer, err, body)
}

func expect(t testing.TB, answer *http.Response, err error, want []byte) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	got, err := io.ReadAll(answer.Body)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes instead of %d, %v", len(got), len(want), err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
}

// A handler is told when its client leaves, as net/http promises: by a Read in the background.
func TestAHandlerHearsThatItsClientHasLeft(t *testing.T) {
	dir := t.TempDir()
	begun, left := make(chan struct{}), make(chan struct{})
	serveHTTP(t, newNode(t, dir), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(left)
	}))
	ctx, cancel := context.WithCancel(patient(t))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://there/", http.NoBody)
	check(t, err)
	var done sync.WaitGroup
	client := clientHTTP(t, newNode(t, dir))
	done.Go(func() {
		if answer, err := client.Do(request); err == nil {
			t.Error("it was answered")
			_ = answer.Body.Close()
		}
	})
	<-begun
	cancel()
	<-left
	done.Wait()
}
