package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
)

func newVerify() *cobra.Command {
	o := &pushOptions{algorithm: push.Auto, block: push.Auto}
	cmd := &cobra.Command{
		Use:   "verify SRC... DEST -w HOSTS",
		Short: "Say which hosts have what was pushed, and which differ",
		Long: `Compares files and directories with what hosts have, byte for byte by hashes,
and says which hosts differ and where. Nothing is sent but hashes, and nothing
is changed. SRC, DEST and HOSTS are as for 'weft push', and so are the exit
statuses: 0 all hosts have the same, 5 some do not, 6 none does, and 1 if some
of those could not even be asked.`,
		Example: `  weft verify tree/ -w 'node[01-64]' /srv/data/tree --keys pusher.pem
  weft verify model.bin -w ^hosts models/ --failed-hosts differ`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.verify(cmd, args) },
	}
	o.addTargets(cmd)
	cmd.Flags().StringVar(&o.failedHosts, "failed-hosts", "", "write the hosts that differ to `FILE`, one a line")
	return cmd
}

func (o *pushOptions) verify(cmd *cobra.Command, args []string) error {
	s, err := o.settings(cmd, args)
	if err != nil {
		return usageError{err}
	}
	return s.verify(cmd.Context())
}

// verify says who has the same.
func (s *pushSettings) verify(ctx context.Context) error {
	show := s.newShow()
	s.failing = "differ, or could not be asked"
	show.planned, show.folded = true, true // there is nothing to send
	report, err := s.watched(ctx, show, push.Verify)
	if report == nil {
		return errors.Join(err, s.writeFailed(nil))
	}
	if !s.mute && !s.asJSON && report.Exit != push.ExitSource { // without a source nobody was asked
		text := fmt.Sprintf("the same at %d of %s: %s, %s", verified(report), counted(len(report.Hosts), "host"), counted(int(report.Files), "file"), units.Bytes(report.Bytes))
		show.print(append(failures(report), text))
	}
	return errors.Join(s.failure(ctx, report), show.err, s.writeFailed(report))
}
