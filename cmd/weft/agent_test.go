package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/push/control"
)

// agentKeys makes the certificate of an agent, and one of a pusher.
func agentKeys(t *testing.T) (agent, pusher string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "keys")
	keysJSON(t, "init", dir)
	keysJSON(t, "issue", dir, "node1", "--role", control.RoleAgent, "--service", "agent/node1")
	keysJSON(t, "issue", dir, "ops", "--role", control.RolePusher)
	return filepath.Join(dir, "node1.pem"), filepath.Join(dir, "ops.pem")
}

// What is wrong with a command line or a file is said before anything is opened.
func TestAgentUsage(t *testing.T) {
	dir, files := t.TempDir(), 0
	file := func(text string) string {
		files++
		name := filepath.Join(dir, fmt.Sprintf("%d.toml", files))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	base := []string{"--root", dir, "--keys", "x.pem"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--root is missing"},
		{[]string{"--root", dir}, "--keys is missing"},
		{append(base, "--log", "xml"), "there are text and json"},
		{append(base, "--grace", "-1s"), "--grace"},
		{append(base, "--sweep", "1s"), "--sweep"},
		{append(base, "--listen", "here"), "--listen"},
		{append(base, "more"), "takes no argument"},
		{[]string{"--config", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"--config", file("root = '/x'\n\nrooot = 1\n")}, `:3: there is no setting "rooot"`},
		{[]string{"--config", file("[agent]\nroot = '/x'\n")}, `:1: there is no setting "agent"`},
		{[]string{"--config", file("root = 7\n")}, ":1: root: "},
		{[]string{"--config", file("root = '/x'\ngrace = 'soon'\n")}, `:2: grace: time: invalid duration "soon"`},
		{[]string{"--config", file("root = '/x'\ngrace = 30\n")}, "missing unit in duration"},
		{[]string{"--config", file("root = '/x'\nroot = '/y'\n")}, ":2: "},
		{[]string{"--config", file("root = '/x\n")}, ":1: "},
		{[]string{"--config", file("root = '/x'\ngrace = '-1s'\nkeys = ['x']\n")}, "--grace -1s"},
		{[]string{"--config", file(strings.Repeat("#", maxConfig+1))}, "at most"},
	} {
		status, out, errs := weft(append([]string{"agent"}, c.args...)...)
		if status != exitUsage || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%q: status %d, %s", c.args, status, errs)
		}
	}
}

// What the command line says counts more than the file.
func TestAgentFileAndFlags(t *testing.T) {
	var o agentOptions
	flags := pflag.NewFlagSet("agent", pflag.ContinueOnError)
	o.flags(flags)
	if err := flags.Parse([]string{"--root", "/flag", "--no-shm=false", "--keys", "flag.pem"}); err != nil {
		t.Fatal(err)
	}
	file, err := parseAgentFile("agent.toml", strings.NewReader(`root = "/file"
name = "n"
listen = "127.0.0.1:9"
advertise = "host"
keys = ["file.pem"]
no-plain = true
no-shm = true
grace = "5s"
sweep = "48h"
metrics = ":9100"
log = "json"`))
	if err != nil {
		t.Fatal(err)
	}
	o.fill(flags, file)
	want := agentOptions{root: "/flag", name: "n", listen: "127.0.0.1:9", advertise: "host", keys: []string{"flag.pem"}, noPlain: true,
		grace: 5 * time.Second, sweep: 48 * time.Hour, metrics: ":9100", log: "json"}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("%+v", o)
	}
}

// Whatever a file says, it is read or refused.
func FuzzAgentFile(f *testing.F) {
	for _, text := range []string{"", "root = '/x'", "grace = '5s'\n", "[x]", "keys = ['a', 'b']", "root = 3", "a.b.c = 1", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parseAgentFile("x.toml", strings.NewReader(text))
		if (file == nil) == (err == nil) {
			t.Errorf("%v, %v", file, err)
		}
	})
}

// Files of others are not an agent's keys.
func TestAgentKeys(t *testing.T) {
	_, pusher := agentKeys(t)
	for says, keys := range map[string]string{"has a certificate of its own": pusher, "no such file": filepath.Join(t.TempDir(), "none.pem")} {
		if status, _, errs := weft("agent", "--root", t.TempDir(), "--keys", keys, "--listen", "127.0.0.1:0"); status != exitFailed || !strings.Contains(errs, says) {
			t.Errorf("status %d, %s", status, errs)
		}
	}
}

// systemd hears that an agent is ready, and that it stops; and Prometheus what it does. It ends well when it is told to.
func TestAgentDaemon(t *testing.T) {
	keys, _ := agentKeys(t)
	dir := t.TempDir()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	config := filepath.Join(dir, "agent.toml")
	text := fmt.Sprintf("root = %q\nkeys = [%q]\nlisten = '127.0.0.1:1'\nadvertise = 'localhost'\nmetrics = '127.0.0.1:0'\n", dir, keys)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "agent", "--config", config, "--listen", "127.0.0.1:0", "--json", "--log", "json")
	cmd.Env = append(os.Environ(), asCommand+"=1", "NOTIFY_SOCKET="+socket.LocalAddr().String())
	out, _ := cmd.StdoutPipe()
	errs, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewScanner(errs)
	metrics := logged(t, log, "metrics are served")
	if told := notified(t, socket); told != "READY=1" {
		t.Errorf("systemd hears %q", told)
	}
	var ready agentEvent
	if err := json.NewDecoder(out).Decode(&ready); err != nil || ready.Event != "ready" || !strings.HasPrefix(ready.Address, "localhost:") || ready.Address == "localhost:1" {
		t.Errorf("%+v: %v", ready, err)
	}
	page := fetch(t, "http://"+metrics+"/metrics")
	for _, name := range []string{"weft_agent_sessions 0", "weft_agent_pushes_total 0", "weft_agent_received_bytes_total", "weft_ripc_links", "process_resident_memory_bytes"} {
		if !strings.Contains(page, name) {
			t.Errorf("there is no %s", name)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if told := notified(t, socket); told != "STOPPING=1" {
		t.Errorf("systemd hears %q", told)
	}
	_, _ = io.Copy(io.Discard, errs)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it has ended with %v", err)
	}
}

// logged is the address that a line of a log says.
func logged(t *testing.T, log *bufio.Scanner, message string) string {
	t.Helper()
	for log.Scan() {
		var line struct{ Msg, Address string }
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%q: %v", log.Text(), err)
		}
		if line.Msg == message {
			return line.Address
		}
	}
	t.Fatalf("nobody says %q", message)
	return ""
}

func notified(t *testing.T, socket *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 100)
	_ = socket.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := socket.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
