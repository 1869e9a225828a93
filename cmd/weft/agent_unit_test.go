package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// unit is the unit for systemd that comes with weft: of each setting, what it was set to last.
func unit(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../contrib/weft-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	settings := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if key, value, is := strings.Cut(strings.TrimSpace(line), "="); is && !strings.HasPrefix(key, "#") {
			settings[key] = value
		}
	}
	return settings
}

// exampleConfig is the configuration of an agent that a text has as an example, up to the end of the block.
func exampleConfig(t *testing.T, of, text string) (o agentOptions) {
	t.Helper()
	_, config, found := strings.Cut(text, "# /etc/weft/agent.toml\n")
	if !found {
		t.Fatalf("%s has no example of a configuration", of)
	}
	config, _, _ = strings.Cut(config, "```")
	file, err := parseAgentFile(of, strings.NewReader(config))
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet(of, pflag.ContinueOnError)
	o.flags(flags)
	o.fill(flags, file)
	return o
}

// The unit starts an agent as there is one: with flags that it has, and with the configuration that help and the documentation show.
func TestUnitStartsAnAgent(t *testing.T) {
	line := strings.Fields(unit(t)["ExecStart"])
	if len(line) < 2 || filepath.Base(line[0]) != "weft" || line[1] != "agent" || !filepath.IsAbs(line[0]) {
		t.Fatalf("it starts %q", line)
	}
	_, help, _ := weft("agent", "--help")
	for _, word := range line[2:] {
		if strings.HasPrefix(word, "-") && !slices.Contains(strings.Fields(help), word) {
			t.Errorf("an agent has no %s", word)
		}
	}
	cmd := newAgent()
	if err := cmd.ParseFlags(line[2:]); err != nil || cmd.Flags().NArg() > 0 {
		t.Fatalf("%q: %v", line, err)
	}
	if config := cmd.Flag("config").Value.String(); config != "/etc/weft/agent.toml" {
		t.Errorf("its configuration is %s", config)
	}
}

// The agent tells systemd when it is ready, may write to its root, and has time to end.
func TestUnitFitsItsConfiguration(t *testing.T) {
	settings := unit(t)
	if settings["Type"] != "notify" {
		t.Errorf("it is of type %s", settings["Type"])
	}
	stop, err := time.ParseDuration(settings["TimeoutStopSec"] + "s")
	if err != nil {
		t.Error(err)
	}
	manual, err := os.ReadFile("../../docs/push.md")
	if err != nil {
		t.Fatal(err)
	}
	for of, text := range map[string]string{"docs/push.md": string(manual), "weft agent --help": unindented(newAgent().Example)} {
		o := exampleConfig(t, of, text)
		if !slices.ContainsFunc(strings.Fields(settings["ReadWritePaths"]), func(path string) bool { return isBelow(o.root, path) }) {
			t.Errorf("%s: the root is %q, and may be written are %s", of, o.root, settings["ReadWritePaths"])
		}
		if o.grace == 0 || stop <= o.grace {
			t.Errorf("%s: pushes have %v to end, and systemd waits %v", of, o.grace, stop)
		}
	}
}

// isBelow reports whether a path is a directory or below it.
func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// unindented is a text without the space that lines of help begin with.
func unindented(text string) string { return strings.ReplaceAll("\n"+text, "\n  ", "\n") }
