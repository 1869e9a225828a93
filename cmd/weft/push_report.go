package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/hosts"
)

// print prints lines of the result.
func (s *pushShow) print(lines []string) {
	_, err := fmt.Fprintln(s.out, strings.Join(inColumns(lines, width(s.out)), "\n"))
	s.keep(err)
}

// row is a line behind a word.
func row(label, format string, args ...any) string {
	return fmt.Sprintf("%-*s%s", labelWidth, label, shown(fmt.Sprintf(format, args...)))
}

// wrapped are the lines of a sentence behind a word, in a terminal of so many columns; 0: nobody knows how many, or it is none.
func wrapped(label, text string, columns int) (lines []string) {
	columns = max(leastColumns, min(cmp.Or(columns, reportColumns), reportColumns))
	for _, line := range printable.Wrap(text, columns-labelWidth) {
		lines, label = append(lines, row(label, "%s", line)), ""
	}
	return lines
}

const (
	reportColumns = 80             // how wide sentences of a report are
	leastColumns  = 2 * labelWidth // in less there is no room for words behind labels
)

// inColumns are lines that a terminal need not break, which would do it within words. Tables, and command lines that somebody may want to
// copy, stay as they are; so do all lines where nobody knows how many columns there are.
func inColumns(lines []string, columns int) (all []string) {
	for _, line := range lines {
		isCommand := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ")
		if columns < leastColumns || isCommand || strings.Contains(line, "\n") {
			all = append(all, line)
			continue
		}
		all = append(all, lineInColumns([]rune(line), columns)...)
	}
	return all
}

// lineInColumns breaks a line between words. What follows stands below what is behind the label.
func lineInColumns(line []rune, columns int) (lines []string) {
	for len(line) > columns {
		end := columns
		for end > labelWidth && line[end] != ' ' {
			end--
		}
		if end == labelWidth { // a hash, or a path
			break
		}
		lines = append(lines, strings.TrimRight(string(line[:end]), " "))
		line = append([]rune(strings.Repeat(" ", labelWidth)), line[end+1:]...)
	}
	return append(lines, string(line))
}

// took is a time that was measured.
func took(d time.Duration) string { return seconds(d.Seconds()) }

// reportLines say how a push ended.
func (s *pushSettings) reportLines(r *push.Report) []string {
	if s.config.DryRun {
		return append(s.dryLines(r), whereMore(r)...)
	}
	lines := resultLines(r)
	if s.local > 0 && r.Rate > 0 {
		lines = append(lines, row("this host", "%s for %s and the pusher: together they received %s", counted(runtime.NumCPU(), "core"), counted(s.local, "agent"), bytesPerSecond(r.Rate*float64(s.local))))
	}
	if s.verbose {
		lines = append(lines, hostLines(r)...)
	}
	return append(lines, s.failedLines(r)...)
}

// hostLines say how it went for each host.
func hostLines(r *push.Report) []string {
	t := &figure.Table{Columns: []string{"host", "outcome", "first block after", "received", "sent", "files and links", "were there"}}
	for _, h := range r.Hosts {
		t.Rows = append(t.Rows, []string{shown(h.Host), string(h.Outcome), took(h.First), units.Bytes(h.Received), units.Bytes(h.Sent), fmt.Sprint(h.Written), fmt.Sprint(h.Skipped)})
	}
	var text strings.Builder
	if err := t.Print(&text); err != nil {
		return []string{err.Error()}
	}
	return []string{"", strings.TrimSuffix(text.String(), "\n")}
}

// resultLines say what was achieved.
func resultLines(r *push.Report) []string {
	lines := []string{fmt.Sprintf("%s: %s, %s", howMany(r), counted(int(r.Files), "file"), units.Bytes(r.Bytes))}
	lines = append(lines, timeLines(r)...)
	if most, some := mostReceived(r); r.Sending > 0 && some && most < r.Bytes {
		lines = append(lines, row("sent", "at most %s to a host: the rest was there already", units.Bytes(most)))
	}
	lines = append(lines, fileLines(r)...)
	if r.Repairs > 0 {
		lines = append(lines, row("repairs", "%s: %s", counted(r.Repairs, "time"), repairWords(r)))
	}
	if slow := demoted(r); len(slow) > 0 {
		lines = append(lines, row("slow", "%s: served after the others", hosts.Fold(slow)))
	}
	if r.CrossBytes > 0 {
		lines = append(lines, row("racks", "%s went from one rack to another", units.Bytes(r.CrossBytes)))
	}
	if r.Root != "" {
		lines = append(lines, row("root hash", "%s", r.Root))
	}
	if r.SHA256 != "" {
		lines = append(lines, row("sha256", "%s", r.SHA256))
	}
	return lines
}

// repairWords say why hosts were connected anew.
func repairWords(r *push.Report) string {
	if verified(r) == len(r.Hosts) && len(demoted(r)) == 0 {
		return "connections broke, and all went on"
	}
	return "the others went on without hosts that failed or were slow"
}

// howMany says how many hosts have it.
func howMany(r *push.Report) string {
	switch done, all := verified(r), len(r.Hosts); {
	case done == 0 && all == 1:
		return "the host does not have it"
	case done == 0:
		return fmt.Sprintf("none of %s has it", counted(all, "host"))
	case done < all:
		return fmt.Sprintf("%d of %s have it, verified", done, counted(all, "host"))
	case all == 1:
		return "the host has it, verified"
	case all == 2:
		return "both hosts have it, verified"
	default:
		return fmt.Sprintf("all %d hosts have it, verified", all)
	}
}

// shortestRated is how long sending takes at least, so that its rate says something.
const shortestRated = 50 * time.Millisecond

// timeLines say how long it took, how that compares with the best, and what held it up.
func timeLines(r *push.Report) (lines []string) {
	text := took(r.Elapsed)
	if r.Sending > 0 {
		text += ", of which sending " + took(r.Sending)
	}
	if r.Rate > 0 && r.Sending > shortestRated {
		text += ": " + bytesPerSecond(r.Rate) + " to " + eachHost(r)
	}
	lines = append(lines, row("time", "%s", text))
	if r.Bound > 0 {
		lines = append(lines, row("at best", "%s: efficiency %.1f %%", took(r.Bound), 100*r.Efficiency))
	}
	if r.Bottleneck != "" {
		lines = append(lines, row("held up by", "%s", r.Bottleneck))
	}
	return lines
}

// eachHost are all hosts of a push, of which there may be but one.
func eachHost(r *push.Report) string {
	if len(r.Hosts) == 1 {
		return "the host"
	}
	return "each host"
}

// mostReceived is what came to the host that lacked most, of those that have everything, if there are any.
func mostReceived(r *push.Report) (most uint64, some bool) {
	for _, h := range r.Hosts {
		if h.Outcome == push.OutcomeVerified {
			most, some = max(most, h.Received), true
		}
	}
	return most, some
}

// maxFileLines is for how many groups of hosts it is told apart what they had already.
const maxFileLines = 5

// fileLines say what hosts had already, folded; nothing, if they had nothing.
func fileLines(r *push.Report) []string {
	var all causes
	skipped := uint64(0)
	for _, h := range r.Hosts {
		if skipped += h.Skipped; h.Outcome == push.OutcomeVerified {
			all.add(h.Host, "", fileWords(h))
		}
	}
	told := all.lines()
	switch {
	case skipped == 0:
		return nil
	case len(r.Hosts) == 1:
		return []string{row("in place", "%s", all.order[0])}
	case len(told) == 1 && verified(r) == len(r.Hosts):
		return []string{row("in place", "at each host %s", all.order[0])}
	case len(told) > maxFileLines:
		return []string{row("in place", "what was there already differs from host to host: -v tells")}
	}
	for i := range told {
		label := ""
		if i == 0 {
			label = "in place"
		}
		told[i] = row(label, "%s", told[i])
	}
	return told
}

// fileWords say what a host had of the files. Links are counted with them, which the number of files in a report does not do.
func fileWords(h push.HostReport) string {
	switch all := h.Written + h.Skipped; {
	case all == 1 && h.Skipped == 1:
		return "it was there already"
	case all == 1:
		return "it is new"
	case h.Skipped == all:
		return fmt.Sprintf("the %d files and links were there already", all)
	case h.Skipped == 0:
		return fmt.Sprintf("none of %d files and links was there already", all)
	default:
		return fmt.Sprintf("%d of %d files and links %s there already", h.Skipped, all, wasOrWere(int(h.Skipped)))
	}
}

// wasOrWere is the word behind a number of things.
func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func demoted(r *push.Report) (slow []string) {
	for _, h := range r.Hosts {
		if h.Demoted {
			slow = append(slow, h.Host)
		}
	}
	return slow
}

// failedLines say what failed, and how to serve those hosts.
func (s *pushSettings) failedLines(r *push.Report) []string {
	failed := failures(r)
	if len(failed) == 0 {
		return nil
	}
	lines := append([]string{""}, failed...)
	if s.local == 0 {
		lines = append(lines, "", "when that is mended, this sends them what they lack:", "  "+s.again+" "+s.missing(r))
	}
	return lines
}

// missing is the flag that names the hosts that failed.
func (s *pushSettings) missing(r *push.Report) string {
	if s.failedHosts != "" {
		return "-w " + quoted("^"+s.failedHosts)
	}
	return "-w " + quoted(hosts.Fold(withOutcome(r, push.OutcomeFailed)))
}

// targets is the flag that names all hosts.
func (s *pushSettings) targets() string {
	if s.local > 0 {
		return fmt.Sprintf("--local %d", s.local)
	}
	return "-w " + quoted(hosts.Fold(s.names))
}

// dryLines say what would be done, and who could not.
func (s *pushSettings) dryLines(r *push.Report) []string {
	var lines []string
	if failed := failures(r); len(failed) > 0 {
		lines = append(failed, "")
	}
	ready := len(withOutcome(r, push.OutcomeReady))
	lines = append(lines, fmt.Sprintf("%d of %s could take it; nothing was changed", ready, counted(len(r.Hosts), "host")))
	if ready > 0 && !s.config.Force {
		lines = append(lines, "files that are there already were not compared: those that are different need -f")
	}
	return lines
}

// whereMore says where there is more to learn of a push that could be.
func whereMore(r *push.Report) []string {
	if len(withOutcome(r, push.OutcomeReady)) == 0 {
		return nil
	}
	return []string{"who sends which block to whom: weft explain"}
}

// planLines say what will be done, in a terminal of so many columns.
func planLines(p *push.Plan, columns int) []string {
	lines := []string{row("plan", "%s, %s to %s", counted(int(p.Files), "file"), units.Bytes(p.Bytes), counted(p.Hosts, "host"))}
	if p.Algorithm != "" {
		lines = append(lines, row("", "%s over %s, %s of %v in %s, %s", p.Algorithm, p.Way, "blocks", units.Size(p.Block), counted(p.Stripes, "stripe"), counted(p.Steps, "step")))
	}
	if p.NotRDMA != "" {
		lines = append(lines, wrapped("not RDMA", p.NotRDMA, columns)...)
	}
	if p.Bound > 0 {
		lines = append(lines, row("", "at best %s at %s, expected %s", took(p.Bound), bytesPerSecond(p.Rate), took(p.Predicted)))
	}
	if p.Skipped > 0 {
		lines = append(lines, wrapped("left out", leftOut(p), columns)...)
	}
	if p.Racks > 0 {
		lines = append(lines, row("racks", "%d, this host in %s; %s go from one to another", p.Racks, p.OwnRack, units.Bytes(p.CrossBytes)))
	}
	if p.Encrypted != "" {
		lines = append(lines, wrapped("encrypted", p.Encrypted, columns)...)
	}
	return inColumns(lines, columns)
}

// leftOut says what of the source cannot be pushed.
func leftOut(p *push.Plan) string {
	const few = 3
	text := strings.Join(p.Skips[:min(few, len(p.Skips))], ", ")
	if more := int(p.Skipped) - few; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// againLine is the command line without its hosts, for hosts that failed.
func againLine(cmd *cobra.Command, args []string) string {
	words := strings.Fields(cmd.CommandPath())
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") { // behind -- there could be no -w any more
			arg = "./" + arg
		}
		words = append(words, quoted(arg))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "hosts", "hosts-file", "exclude", "local", "keep":
			return
		}
		words = append(words, flagWords(f)...)
	})
	return strings.Join(words, " ")
}

// flagWords say once more what a flag was told.
func flagWords(f *pflag.Flag) []string {
	name, value := "--"+f.Name, f.Value.String()
	if _, isList := f.Value.(pflag.SliceValue); isList {
		value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	}
	switch f.NoOptDefVal {
	case "":
		return []string{name, quoted(value)}
	case value:
		return []string{name}
	}
	return []string{name + "=" + quoted(value)} // such a flag does not take the next word
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return escaped(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// escaped is a word that a terminal would take for something else, as bash and zsh take it.
func escaped(word string) string {
	text := "$'"
	for _, b := range []byte(word) {
		switch {
		case b == '\'' || b == '\\':
			text += `\` + string(b)
		case b < ' ' || b > '~':
			text += fmt.Sprintf(`\x%02x`, b)
		default:
			text += string(b)
		}
	}
	return text + "'"
}
