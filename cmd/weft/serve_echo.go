package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
)

// maxEchoes is how many services one command has.
const maxEchoes = 10_000

// echoOptions is what the command line of weft serve-echo says.
type echoOptions struct {
	place  place
	asJSON bool
}

func newServeEcho() *cobra.Command {
	var o echoOptions
	cmd := &cobra.Command{
		Use:   "serve-echo NAME...",
		Short: "Have services that answer with what they are told, to try things",
		Long: `Registers services, and answers every call with what it says, until Ctrl-C. If
another process has one of the names, that is an error.`,
		Example: `  weft serve-echo greeter
  weft call greeter --data hello`,
		Args: takes(1, maxEchoes, "names of services: NAME..."),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args, cmd.OutOrStdout()) },
	}
	o.place.serves = true
	o.place.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object a line for each event")
	return cmd
}

// echoEvent is what weft serve-echo tells programs.
type echoEvent struct {
	Event    string   `json:"event"` // ready
	Services []string `json:"services"`
	At       []string `json:"at"`
}

func (o *echoOptions) run(ctx context.Context, names []string, out io.Writer) (err error) {
	if err := checkNames(names); err != nil {
		return usageError{err}
	}
	m, err := o.place.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	var services []*ripc.Service
	for _, name := range names {
		s, err := m.Register(ctx, name)
		if err != nil {
			return notRegistered(err)
		}
		services = append(services, s)
	}
	if err := o.tell(out, echoEvent{Event: "ready", Services: names, At: m.Addresses()}, "ready: "+strings.Join(names, ", ")+"; Ctrl-C ends it\n"); err != nil {
		return err
	}
	err = serveAll(ctx, services)
	ending, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(err, m.Shutdown(ending), ctx.Err())
}

// notRegistered is why a service cannot be had. Who has it already is named once, with the name.
func notRegistered(err error) error {
	var taken *find.TakenError
	if errors.As(err, &taken) {
		return kindError{taken, "taken"}
	}
	return err
}

// checkNames says what is wrong with the names of services that one process is to have.
func checkNames(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%q is given twice", name)
		}
		seen[name] = true
	}
	return nil
}

// tell prints what has happened.
func (o *echoOptions) tell(out io.Writer, e echoEvent, text string) error {
	if o.asJSON {
		return json.NewEncoder(out).Encode(e)
	}
	_, err := io.WriteString(out, text)
	return err
}

// serveAll answers until ctx ends, or a service does: another process has taken it over.
func serveAll(ctx context.Context, services []*ripc.Service) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, len(services))
	var all sync.WaitGroup
	for i, s := range services {
		all.Go(func() {
			if failed[i] = s.Serve(ctx, runtime.NumCPU(), echo); failed[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// echo answers with what it was told: what is lent to it, it lends.
func echo(ctx context.Context, m *ripc.Message) error {
	r := ripc.Reply{Items: m.Items()}
	if len(m.Lent()) > 0 {
		list, err := m.Pull(ctx)
		if err != nil {
			return err
		}
		defer func() {
			for _, b := range list {
				b.Release()
			}
		}()
		r.Lend = list
	}
	if !m.IsCall() {
		return nil
	}
	return m.AnswerWith(ctx, r)
}
