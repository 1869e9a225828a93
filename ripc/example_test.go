package ripc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/verbs"
)

// process is what a program has that takes part: a device, a resolver and a node.
type process struct {
	*ripc.Node
	close func()
}

func newProcess(directory string) process {
	nic, err := soft.New(soft.Config{Lanes: soft.AllLanes})
	check(err)
	device, err := verbs.Open(nic)
	check(err)
	resolver, err := host.Open(host.Config{Dir: directory})
	check(err)
	node, err := ripc.Open(ripc.Config{Device: device, Resolver: resolver})
	check(err)
	return process{node, func() { check(errors.Join(node.Close(), resolver.Close(), device.Close())) }}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Two processes, which are two nodes here. One has a service, the other calls it by its name, and knows nothing else.
func Example() {
	directory, err := os.MkdirTemp("", "weft")
	check(err)
	defer func() { check(os.RemoveAll(directory)) }()
	server, client := newProcess(directory), newProcess(directory)
	defer server.close()
	defer client.close()
	ctx, cancel := context.WithCancel(context.Background())

	upper, err := server.Register(ctx, "upper")
	check(err)
	var done sync.WaitGroup
	done.Go(func() {
		check(upper.Serve(ctx, 1, func(ctx context.Context, m *ripc.Message) error {
			return m.Answer(ctx, []byte(strings.ToUpper(string(m.Bytes()))))
		}))
	})

	answer, err := client.Call(ctx, ripc.Name("upper"), []byte("hello"))
	check(err)
	fmt.Printf("%s\n", answer.Bytes())
	answer.Release()

	cancel()
	done.Wait()
	check(upper.Close())
	// Output: HELLO
}

// A call that lends: a megabyte stays where it is, and the service reads it from there. The caller lends memory for the answer
// too, and the service writes it there.
func Example_long() {
	directory, err := os.MkdirTemp("", "weft")
	check(err)
	defer func() { check(os.RemoveAll(directory)) }()
	server, client := newProcess(directory), newProcess(directory)
	defer server.close()
	defer client.close()
	ctx, cancel := context.WithCancel(context.Background())

	reverse, err := server.Register(ctx, "reverse")
	check(err)
	var done sync.WaitGroup
	done.Go(func() { check(reverse.Serve(ctx, 1, reversed)) })

	from, err := client.Alloc(1 << 20)
	check(err)
	into, err := client.Alloc(1 << 20)
	check(err)
	copy(from.Bytes(), "first")
	copy(from.Bytes()[1<<20-4:], "last")
	answer, err := client.Do(ctx, ripc.Request{To: ripc.Name("reverse"), Lend: []*ripc.Buffer{from}, Return: []*ripc.Buffer{into}})
	check(err)
	fmt.Printf("%d bytes, from %s to %s\n", answer.Filled()[0], into.Bytes()[:4], into.Bytes()[1<<20-5:])
	answer.Release()
	from.Release()
	into.Release()

	cancel()
	done.Wait()
	check(reverse.Close())
	// Output: 1048576 bytes, from tsal to tsrif
}

// reversed pulls what the caller lends, turns it round, and fills what it has lent for the answer.
func reversed(ctx context.Context, m *ripc.Message) error {
	list, err := m.Pull(ctx)
	if err != nil {
		return err
	}
	b := list[0].Bytes()
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	err = m.AnswerWith(ctx, ripc.Reply{Fill: map[int]*ripc.Buffer{0: list[0]}})
	list[0].Release()
	return err
}
