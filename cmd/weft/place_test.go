package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/internal/certify"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
)

func interrupt(t *testing.T, echo *exec.Cmd) {
	t.Helper()
	if err := echo.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	_ = echo.Wait() // it says that it was interrupted
}

// freePort is an address of this host that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// Processes with certificates of one authority call each other over TCP; who has none, or another name in it, is left out.
func TestServicesWithKeys(t *testing.T) {
	dir := t.TempDir()
	pem := func(name string) string { return filepath.Join(dir, "keys", name+".pem") }
	keysJSON(t, "make", filepath.Dir(pem("")), "server", "--service", "greeter")
	keysJSON(t, "make", filepath.Dir(pem("")), "client")
	keysJSON(t, "make", filepath.Join(dir, "others"), "stranger")
	at := []string{"--directory", filepath.Join(dir, "services")}
	echo := startEchoAt(t, append(at, "--listen", freePort(t), "--keys", pem("server"), "greeter")...)
	defer interrupt(t, echo)
	for _, c := range []struct {
		keys   []string
		status int
		says   string
	}{
		{[]string{"--keys", pem("client")}, 0, "hello"},
		{[]string{"--keys", filepath.Join(dir, "others", "stranger.pem")}, 1, "--keys of one authority"},
		{[]string{"--keys", pem("nobody")}, 1, "weft: --keys: stat " + pem("nobody")},
		{[]string{"--plain"}, 1, "give --keys too"},
		{nil, 1, "give --keys too"},
	} {
		args := append([]string{"call", "greeter", "--data", "hello", "--timeout", "2s"}, append(at, c.keys...)...)
		if status, out, errs := weft(args...); status != c.status || !strings.Contains(out+errs, c.says) {
			t.Errorf("%v: %d, %q, %q", c.keys, status, out, errs)
		}
	}
	args := append([]string{"serve-echo", "kv/3", "--listen", "127.0.0.1:0", "--keys", pem("server")}, at...)
	if status, _, errs := weft(args...); status != 1 || !strings.Contains(errs, "kv/3") {
		t.Errorf("a name that is not in the certificate: %d, %q", status, errs)
	}
}

// Who calls a service that lets everybody in needs no more than to say the same, and is told so.
func TestPlainServices(t *testing.T) {
	dir := t.TempDir()
	keysJSON(t, "make", filepath.Join(dir, "keys"), "client")
	at := []string{"--directory", filepath.Join(dir, "services")}
	echo := startEchoAt(t, append(at, "--listen", "127.0.0.1:0", "--plain", "greeter")...)
	defer interrupt(t, echo)
	for flags, c := range map[string]struct {
		status int
		says   string
	}{
		"--plain": {0, "hello"},
		"":        {1, "started with --plain or --keys: give the same"},
		"--keys " + filepath.Join(dir, "keys", "client.pem"): {1, "or both --plain"},
	} {
		args := append([]string{"call", "greeter", "--data", "hello"}, append(at, strings.Fields(flags)...)...)
		if status, out, errs := weft(args...); status != c.status || !strings.Contains(out+errs, c.says) || strings.Contains(errs, "Config.") {
			t.Errorf("%q: %d, %q, %q", flags, status, out, errs)
		}
	}
}

// Who lets everybody in says where. Who only calls need not.
func TestPlainServicesListenSomewhere(t *testing.T) {
	if status, _, errs := weft("serve-echo", "x", "--plain", "--directory", t.TempDir()); status != 2 || !strings.Contains(errs, "give --listen or --lan") {
		t.Errorf("%d, %q", status, errs)
	}
	if status, _, errs := weft("call", "x", "--plain", "--directory", t.TempDir()); status != 1 || !strings.Contains(errs, "no such service") {
		t.Errorf("%d, %q", status, errs)
	}
}

func TestServicesOfANetworkWithASecret(t *testing.T) {
	file := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret, other, short := file("secret", strings.Repeat("s", 32)), file("other", strings.Repeat("o", 32)), file("short", "s")
	name := ownName("hidden")
	echo := startEchoAt(t, "--lan", "lo", "--lan-key", secret, name)
	defer interrupt(t, echo)
	for _, c := range []struct {
		key    string
		status int
		says   string
	}{
		{secret, 0, "hello"}, {other, 1, "no such service"}, {short, 1, "16 to"}, {"none", 1, "none"},
	} {
		args := []string{"call", name, "--data", "hello", "--lan", "lo", "--lan-key", c.key}
		if status, out, errs := weft(args...); status != c.status || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: %d, %q, %q", c.key, status, out, errs)
		}
	}
}

func TestServicesInEtcd(t *testing.T) {
	server, err := embedded.Start(t.Context(), embedded.Config{Folder: t.TempDir(), Careless: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := []string{"--etcd", server.Endpoint()}
	echo := startEchoAt(t, append(at, "greeter")...)
	if status, out, errs := weft(append([]string{"call", "greeter", "--data", "hello"}, at...)...); status != 0 || out != "hello" {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	if status, out, errs := weft(append([]string{"services"}, at...)...); status != 0 || !strings.Contains(out, "greeter") {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	interrupt(t, echo)
	if status, out, errs := weft(append([]string{"services"}, at...)...); status != 0 || !strings.Contains(out, "There are none") {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
}

// A directory that wants certificates is found with --etcd-keys, and not without, or with another authority.
func TestServicesInEtcdWithCertificates(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	certify.Write(t, folder)
	certify.Write(t, other)
	files := func(folder string, names ...string) (list []string) {
		for _, name := range names {
			list = append(list, filepath.Join(folder, name+".pem"))
		}
		return list
	}
	all := files(folder, "authority", "certificate", "key")
	server, err := embedded.Start(t.Context(), embedded.Config{Folder: t.TempDir(), Careless: true, Authority: all[0], Certificate: all[1], Key: all[2]})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := []string{"--etcd", server.Endpoint()}
	echo := startEchoAt(t, append(at, "--etcd-keys", strings.Join(all, ","), "greeter")...)
	defer interrupt(t, echo)
	for name, c := range map[string]struct {
		keys   []string
		status int
	}{
		"all":                   {all, 0},
		"no certificate":        {all[:1], 1},
		"another authority":     {files(other, "authority", "certificate", "key"), 1},
		"a key without its own": {[]string{all[0], all[1], files(other, "key")[0]}, 1},
	} {
		args := append([]string{"call", "greeter", "--data", "hello", "--timeout", "3s", "--etcd-keys", strings.Join(c.keys, ",")}, at...)
		if status, out, errs := weft(args...); status != c.status || (status == 0) != (out == "hello") || status != 0 && errs == "" {
			t.Errorf("%s: %d, %q, %q", name, status, out, errs)
		}
	}
}

func TestFlagsOfAPlace(t *testing.T) {
	for flags, says := range map[string]string{
		"--lan lo --directory x":           "one of them",
		"--etcd 127.0.0.1:1 --directory x": "one of them",
		"--lan-key x":                      "is for --lan",
		"--etcd-keys x":                    "is for --etcd",
		"--keys x --plain":                 "leave one",
		"--listen 127.0.0.1:0":             "--keys, or --plain",
		"--listen nowhere --plain":         "\"nowhere\" is not an address",
		"--listen :99999 --plain":          "\":99999\" is not an address",
		"--lan no-such-network":            "there is no such network interface",
		"--etcd no-port":                   "weft: --etcd: \"no-port\" is not a server: write host:port, or https://host:port\n",
	} {
		for _, command := range []string{"call x", "serve-echo x", "services"} {
			if status, _, errs := weft(strings.Fields(command + " " + flags)...); status != 2 || !strings.Contains(errs, says) {
				t.Errorf("%s %s: %d, %q", command, flags, status, errs)
			}
		}
	}
}

// An address that this host does not have is named once, with its flag.
func TestAnAddressOfAnotherHost(t *testing.T) {
	const elsewhere = "192.0.2.1:0" // RFC 5737: nobody has it
	directory := t.TempDir()
	if _, err := openPlace(t, directory).Register(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"call", "serve-echo"} {
		status, _, errs := weft(command, "x", "--plain", "--listen", elsewhere, "--directory", directory)
		if status != 1 || !strings.Contains(errs, "--listen "+elsewhere) || strings.Count(errs, elsewhere) != 1 {
			t.Errorf("%s: %d, %q", command, status, errs)
		}
	}
}

// What cannot be opened is an error, and nothing is left open.
func TestAPlaceThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"--directory " + file, "--etcd-keys " + file + " --etcd 127.0.0.1:1"} {
		for _, command := range []string{"call x", "serve-echo x", "services"} {
			if status, _, errs := weft(strings.Fields(command + " " + flags)...); status == 0 || errs == "" {
				t.Errorf("%s %s: %d, %q", command, flags, status, errs)
			}
		}
	}
}
