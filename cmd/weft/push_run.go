package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	pushway "github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/ripc/find"
)

// pushError is of a push in which something failed. Its status says what.
type pushError struct {
	text   string
	status int
}

func (e pushError) Error() string { return e.text }

// pushKinds are the words by which programs know what has failed, by exit status.
var pushKinds = map[int]string{
	push.ExitSource: "source", push.ExitNoHost: "no_host", push.ExitPartial: "partial", push.ExitIntegrity: "integrity",
	push.ExitAuth: "authentication", push.ExitPreflight: "preflight", push.ExitLate: "late",
}

// push puts the sources where they belong, and tells how that went.
func (s *pushSettings) push(ctx context.Context) error {
	show := s.newShow()
	show.folded = s.config.DryRun
	report, err := s.watched(ctx, show, push.Run)
	if report == nil {
		return errors.Join(err, s.writeFailed(nil))
	}
	err = s.writeFailed(report)
	if !s.config.DryRun && report.Plan != nil {
		s.remember(report) // what has not come to a plan has nothing to explain, and the push before may have
	}
	if s.tells(show, report) {
		show.print(s.reportLines(report))
	}
	return errors.Join(s.failure(ctx, report), show.err, err)
}

// tells reports whether people are shown a report: if the error does not say it all.
func (s *pushSettings) tells(show *pushShow, r *push.Report) bool {
	return !s.mute && !s.asJSON && (r.Error == "" || verified(r) > 0 || show.owesReport())
}

func (s *pushSettings) newShow() *pushShow {
	return newPushShow(s.out, s.errs, s.asJSON, s.mute, s.verbose, s.names)
}

// watched does some work of package push, and shows it.
func (s *pushSettings) watched(ctx context.Context, show *pushShow, work func(context.Context, push.Config) (*push.Report, error)) (*push.Report, error) {
	if err := s.open(show); err != nil {
		return nil, err
	}
	show.progress.start()
	defer show.progress.stop()
	defer onInterrupt(ctx, show.interrupts())()
	defer context.AfterFunc(ctx, show.progress.giveWay)()
	pushing, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(push.ErrInterrupted) })() // a signal means nothing to package push
	report, err := work(pushing, s.config)
	if errors.Is(err, push.ErrUsage) {
		err = usageError{errors.New(strings.TrimPrefix(err.Error(), push.ErrUsage.Error()+": "))}
	}
	return report, err
}

// open fills in what the work takes from this process.
func (s *pushSettings) open(show *pushShow) error {
	ring, err := s.keyring()
	if err != nil {
		return err
	}
	c := &s.config
	c.Keys, c.Events, c.Log = ring, show.event, slog.New(slog.DiscardHandler)
	if s.verbose && !s.asJSON {
		c.Log = slog.New(slog.NewTextHandler(show, nil))
	}
	if dir, err := os.UserCacheDir(); err == nil && s.local == 0 { // who has no home hashes anew
		c.CacheDir = filepath.Join(dir, "weft", "hashes")
	}
	c.OpenPlace = func(agents find.Resolver) (*pushway.Place, error) {
		return pushway.Open(pushway.Config{Keys: ring, Resolver: agents, Hardware: usableHardware(s.device), Log: c.Log})
	}
	boundMemory()
	return nil
}

// keyring is who pushes.
func (s *pushSettings) keyring() (*keys.Keyring, error) {
	files := s.keys
	if usual := usualFile(control.RolePusher + ".pem"); len(files) == 0 && usual != "" {
		files = []string{usual}
	}
	if len(files) == 0 {
		return nil, usageError{errors.New("who pushes? Say --keys pusher.pem; 'weft keys make DIR HOST... --push' makes it, and those of the hosts")}
	}
	ring, err := keys.Open(keys.Config{Files: files})
	if err != nil {
		return nil, pushError{"--keys: " + strings.TrimPrefix(err.Error(), "open keys: "), push.ExitAuth}
	}
	if id := ring.Identity(); id.Role != control.RolePusher {
		return nil, pushError{fmt.Sprintf("--keys %s: the role of %s is %q, and only a %q may push", files[0], id.Name, id.Role, control.RolePusher), push.ExitAuth}
	}
	return ring, nil
}

// failure is what the command fails with.
func (s *pushSettings) failure(ctx context.Context, r *push.Report) error {
	switch {
	case r.Exit == push.ExitOK:
		return nil
	case r.Exit == push.ExitInterrupted && ctx.Err() != nil:
		return stoppedError{s.soFar(r)}
	}
	text := r.Error
	if failed := len(withOutcome(r, push.OutcomeFailed)); text == "" {
		text = fmt.Sprintf("%d of %s %s", failed, counted(len(r.Hosts), "host"), cmp.Or(s.failing, "failed"))
		if s.mute || s.asJSON {
			text += ": " + strings.Join(failures(r), "; ")
		}
	}
	if r.Exit == push.ExitLate && r.Error != "" {
		text += "; " + s.soFar(r)
	}
	return pushError{text, r.Exit}
}

// soFar is what somebody hears who has stopped it.
func (s *pushSettings) soFar(r *push.Report) string {
	text := fmt.Sprintf("%d of %s have it", verified(r), counted(len(r.Hosts), "host"))
	if s.local > 0 {
		return text
	}
	return text + "; the same command resumes it"
}

// withOutcome are the hosts for which it ended so.
func withOutcome(r *push.Report, outcome push.Outcome) (names []string) {
	for _, h := range r.Hosts {
		if h.Outcome == outcome {
			names = append(names, h.Host)
		}
	}
	return names
}

// verified is how many hosts have it all.
func verified(r *push.Report) int { return len(withOutcome(r, push.OutcomeVerified)) }

// failures says why hosts failed, folded.
func failures(r *push.Report) []string {
	if r.Exit == push.ExitSource {
		return nil // no host has to do with it, and the error says it
	}
	var all causes
	for _, h := range r.Hosts {
		if h.Outcome == push.OutcomeFailed {
			all.add(h.Host, h.Cause, h.Text)
		}
	}
	return all.lines()
}

// writeFailed writes the hosts that do not have it. Without a report none has.
func (s *pushSettings) writeFailed(r *push.Report) error {
	if s.failedHosts == "" {
		return nil
	}
	failed := s.names
	if r != nil {
		failed = withOutcome(r, push.OutcomeFailed)
	}
	text := ""
	for _, host := range failed {
		text += host + "\n"
	}
	if err := writeWhole(s.failedHosts, []byte(text)); err != nil {
		return fmt.Errorf("--failed-hosts: %w", err)
	}
	return nil
}
