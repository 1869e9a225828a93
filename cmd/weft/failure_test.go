package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/ripc"
)

// failed reads what programs are told of a failure: one JSON object, on one line, and nothing else.
func failed(t *testing.T, errs string) (f failure) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(errs))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil || f.Error == "" || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, "\n") {
		t.Fatalf("%q: %v", errs, err)
	}
	return f
}

// Who says --json is told of errors in JSON, too, by whatever command.
func TestProgramsAreToldOfErrorsInJSON(t *testing.T) {
	directory := t.TempDir()
	at := " --json --directory " + directory
	taken, err := openPlace(t, directory).Register(t.Context(), "taken")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = taken.Serve(t.Context(), 1, func(context.Context, *ripc.Message) error { return errors.New("no such key") })
	}()
	for line, want := range map[string]failure{
		"call nobody" + at:                            {"no such service", "no_service", 1},
		"call taken" + at:                             {"no such key", "service_failed", 1},
		"call taken --timeout 1ns" + at:               {"1ns (--timeout)", "timeout", 1},
		"call" + at:                                   {"SERVICE", "usage", 2},
		"serve-echo taken" + at:                       {"is taken", "taken", 1},
		"services --plain --keys x" + at:              {"--plain", "usage", 2},
		"services --json --nonsense":                  {"--nonsense", "usage", 2},
		"services --nonsense --json":                  {"--nonsense", "usage", 2},
		"call nobody --timeout soon" + at:             {"soon", "usage", 2},
		"version --json now":                          {"now", "usage", 2},
		"keys show --json " + directory + "/none.pem": {"none.pem", "failed", 1},
	} {
		status, out, errs := weft(strings.Fields(line)...)
		if got := failed(t, errs); status != want.status || got.Kind != want.Kind || !strings.Contains(got.Error, want.Error) || out != "" {
			t.Errorf("%s: status %d, %q, %q, want %+v", line, status, out, errs, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	if status := run(ctx, strings.Fields("call taken"+at), &out, &errs); status != 130 || failed(t, errs.String()).Kind != "interrupted" {
		t.Errorf("interrupted: status %d, %q", status, &errs)
	}
}

// Who has started a command with --json tells people what that has said.
func TestAComplaintIsWhatACommandHasSaid(t *testing.T) {
	for said, want := range map[string]string{
		"weft: a notice\n" + `{"error":"it broke","kind":"failed"}`: "weft: a notice\nit broke",
		`{"error":"it broke","kind":"failed"}`:                      "it broke",
		"weft: it broke":                                            "weft: it broke",
		"":                                                          "",
	} {
		if got := complaint(said); got != want {
			t.Errorf("%q became %q, want %q", said, got, want)
		}
	}
}

// Others are told in plain words, also if something of the command line only looks as if they had said --json.
func TestPeopleAreToldOfErrorsInWords(t *testing.T) {
	for _, flags := range [][]string{{"--json=false"}, {"--json", "--json=false"}, {"--data", "--json"}, nil} {
		_, _, errs := weft(append([]string{"call", "nobody", "--directory", t.TempDir()}, flags...)...)
		if !strings.HasPrefix(errs, "weft: no such service") {
			t.Errorf("%q: %q", flags, errs)
		}
	}
}
