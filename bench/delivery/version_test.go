package delivery

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestVersionSaid(t *testing.T) {
	for said, want := range map[string]string{"Udp-sender 20120424\nNo suitable network interface found": "20120424", "aria2 version 1.36.0\nCopyright (C) 2006": "1.36.0", "none": ""} {
		got, err := versionSaid(exec.Command("sh", "-c", "echo '"+said+"' >&2; exit 1"))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", said, got, err)
		}
	}
	if _, err := versionSaid(exec.Command("/nonexistent")); err == nil || !strings.Contains(err.Error(), "/nonexistent tells no version") {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	for kind, program := range map[Kind]string{KindUDPCast: "udp-sender", KindTorrent: "aria2c"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Log(program, "is not installed")
			continue
		}
		if v, err := Version(context.Background(), kind); err != nil || !regexp.MustCompile(`^\d[\d.]+\d$`).MatchString(v) {
			t.Errorf("%s: %q, %v", program, v, err)
		}
	}
}
