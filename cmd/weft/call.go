package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/wire"
)

// callOptions is what the command line of weft call says.
type callOptions struct {
	place   place
	data    string
	timeout time.Duration
	isSaid  bool // the timeout
	asJSON  bool
}

func newCall() *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call SERVICE",
		Short: "Call a service, wherever it runs, and print its answer",
		Long: `Calls a service by its name and writes its answer to standard output, as it is.
What is sent is what --data says, or with --data - what standard input has. It
goes in one short message if it fits, and otherwise stays here until the service
has read it. It is sent once: if the service ends meanwhile, that is an error.
Without --data the call is empty, and standard input is not read.

A service whose process was started with --keys or --plain is called with the
same flag. On another host, it need not be able to dial this process.

--timeout is for all of it until the answer is here: to reach the directory, to
find the service, to read standard input to its end and to wait for the answer.
If it is not given, standard input may take as long as it likes.

Exit status 1 if there is no such service, it fails, or the time is up.`,
		Example: `  weft serve-echo greeter &
  weft call greeter --data hello
  weft call greeter --data - < picture.png > copy.png`,
		Args: takesOneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.isSaid = cmd.Flags().Changed("timeout")
			return o.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	o.place.flags(cmd.Flags())
	cmd.Flags().StringVar(&o.data, "data", "", "what to send; - is what standard input has (nothing)")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 10*time.Second, "how long it may take until the answer is here")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object, with the answer in base64")
	return cmd
}

// takesOneName tells who gives the message as an argument how it is given.
func takesOneName(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{errors.New("call takes one argument, the name of a service; what to send goes by --data: weft call NAME --data TEXT")}
	}
	return takes(1, 1, "the name of a service: SERVICE")(cmd, args)
}

// callReport is what weft call tells programs.
type callReport struct {
	Service string  `json:"service"`
	Sent    int     `json:"sent_bytes"`
	Long    bool    `json:"long"` // it did not fit into a short message
	Seconds float64 `json:"seconds"`
	Answer  []byte  `json:"answer"`
}

func (o *callOptions) run(ctx context.Context, name string, in io.Reader, out io.Writer) (err error) {
	if err := checkName(name); err != nil {
		return usageError{err}
	}
	if o.timeout <= 0 {
		return usageError{fmt.Errorf("--timeout %v: it must be positive", o.timeout)}
	}
	limited, cancel := o.limit(ctx)
	defer cancel()
	m, err := o.place.openFor(limited, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if !o.isSaid {
		limited = ctx // somebody may be typing
	}
	data, err := o.read(limited, m.Node, in)
	if err != nil {
		return err
	}
	defer data.release()
	if !o.isSaid {
		limited, cancel = o.limit(ctx)
		defer cancel()
	}
	began := time.Now()
	answer, err := data.call(limited, m.Node, name)
	if err != nil {
		return noService(name, noAnswer(limited, name, err))
	}
	defer answer.release()
	r := callReport{Service: name, Sent: data.size, Long: data.buffer != nil, Seconds: time.Since(began).Seconds(), Answer: answer.bytes()}
	return r.print(out, o.asJSON)
}

// limit is a context that ends when the time is up, and says so.
func (o *callOptions) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.timeout, kindError{fmt.Errorf("the time is up after %v (--timeout)", o.timeout), "timeout"})
}

// noAnswer is the error of a call. If that is the end of its context, only why that has ended is said of it, and what is known of the tries
// before.
func noAnswer(ctx context.Context, name string, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || !errors.Is(err, cause) {
		return err
	}
	_, tries, _ := strings.Cut(err.Error(), cause.Error())
	return fmt.Errorf("no answer from service %q: %w%s", name, cause, tries)
}

// checkName says what is wrong with the name of a service.
func checkName(name string) error {
	if name == "" || printable.Check("name", name, wire.MaxName) != nil {
		return fmt.Errorf("%q is %w", name[:min(len(name), 2*wire.MaxName)], wire.ErrName)
	}
	return nil
}

// read returns what is to be sent.
func (o *callOptions) read(ctx context.Context, n *ripc.Node, in io.Reader) (*parcel, error) {
	if o.data != "-" {
		return readParcel(n, strings.NewReader(o.data), maxCall)
	}
	p, err := readUntil(ctx, n, in)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return p, nil
}

// readUntil reads all that there is, until ctx ends: somebody who types must not have to end that first. Nothing else ends the read of
// a terminal or a pipe, so it is left behind then, and ends with the process.
func readUntil(ctx context.Context, n *ripc.Node, in io.Reader) (*parcel, error) {
	type end struct {
		p   *parcel
		err error
	}
	done := make(chan end, 1)
	go func() {
		p, err := readParcel(n, in, maxCall)
		done <- end{p, err}
	}()
	select {
	case e := <-done:
		return e.p, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *callReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	if _, err := out.Write(r.Answer); err != nil {
		return err
	}
	if isTerminal(out) && (len(r.Answer) == 0 || r.Answer[len(r.Answer)-1] != '\n') {
		_, err := fmt.Fprintln(out) // the prompt shall begin on a line of its own
		return err
	}
	return nil
}
