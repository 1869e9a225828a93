package here_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/here"
)

// pair opens two nodes, as two processes would. They meet in a directory of their own, so that no other program of this user's has
// their names; a program leaves Directory empty.
func pair() (server, client *here.Node, end func()) {
	directory, err := os.MkdirTemp("", "weft")
	check(err)
	server, err = here.Open(here.Config{Directory: directory})
	check(err)
	client, err = here.Open(here.Config{Directory: directory})
	check(err)
	return server, client, func() { check(errors.Join(client.Close(), server.Close(), os.RemoveAll(directory))) }
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A Go function is a service, and elsewhere a service is a Go function.
func Example() {
	server, client, end := pair()
	defer end()
	ctx := context.Background()

	lengths, err := server.Register(ctx, "lengths")
	check(err)
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = lengths.Serve(ctx, 4, ripc.HandlerOf(nil, func(_ context.Context, word string) (int, error) { return len(word), nil }))
	})

	length := ripc.Function[string, int]{From: client, To: ripc.Name("lengths")}
	n, err := length.Call(ctx, "hello")
	check(err)
	fmt.Println(n)

	check(server.Shutdown(ctx))
	serving.Wait()
	// Output: 5
}

// A process ends well: what has arrived is still answered. Serve has a context that outlives Shutdown, and says that the node was closed.
func ExampleNode_Shutdown() {
	server, client, end := pair()
	defer end()
	ctx := context.Background()

	upper, err := server.Register(ctx, "upper")
	check(err)
	var serving sync.WaitGroup
	serving.Go(func() {
		err := upper.Serve(ctx, 1, func(ctx context.Context, m *ripc.Message) error {
			return m.Answer(ctx, []byte(strings.ToUpper(string(m.Bytes()))))
		})
		fmt.Println("served, until the node was closed:", errors.Is(err, ripc.ErrClosed))
	})

	answer, err := client.Call(ctx, ripc.Name("upper"), []byte("hello"))
	check(err)
	fmt.Printf("%s\n", answer.Bytes())
	answer.Release()

	check(server.Shutdown(ctx)) // with a deadline, in a program
	serving.Wait()
	// Output:
	// HELLO
	// served, until the node was closed: true
}

// withdrawn is the result of a withdrawal: what its caller is to tell apart is a field of it.
type withdrawn struct {
	Left    int
	Missing int `json:",omitempty"` // so much is not there: nothing was withdrawn
}

// A caller acts on what it can test for, and only tells people what an error says. So the service has the one in its result, and fails
// with the other.
func Example_outcomes() {
	server, client, end := pair()
	defer end()
	ctx := context.Background()

	purse, err := server.Register(ctx, "purse")
	check(err)
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = purse.Serve(ctx, 1, ripc.HandlerOf(nil, func(_ context.Context, amount int) (withdrawn, error) {
			const has = 10
			switch {
			case amount < 0:
				return withdrawn{}, fmt.Errorf("%d is no amount", amount)
			case amount > has:
				return withdrawn{Left: has, Missing: amount - has}, nil
			}
			return withdrawn{Left: has - amount}, nil
		}))
	})

	withdraw := ripc.Function[int, withdrawn]{From: client, To: ripc.Name("purse")}
	for _, amount := range []int{4, 14, -1} {
		result, err := withdraw.Call(ctx, amount)
		switch {
		case err != nil:
			fmt.Println(err)
		case result.Missing > 0:
			fmt.Println("missing:", result.Missing)
		default:
			fmt.Println("left:", result.Left)
		}
	}

	check(server.Shutdown(ctx))
	serving.Wait()
	// Output:
	// left: 6
	// missing: 4
	// service "purse" failed: -1 is no amount
}
