package contest

import (
	"flag"
	"testing"
)

func parse(arguments []string) (o Options, err error) {
	err = o.Parse(flag.NewFlagSet("test", flag.ContinueOnError), arguments)
	return o, err
}

func TestParseRefusesBadFlags(t *testing.T) {
	for _, c := range [][]string{
		{"-only", "("}, {"-pairs", "0"}, {"-pairs", "1001"}, {"-out", "x", "-pairs", "6"}, {"shm"},
	} {
		if _, err := parse(c); err == nil {
			t.Errorf("%q was taken", c)
		}
	}
	for _, c := range [][]string{{"-out", "x", "-only", "shm"}, {"-out", "x", "-quick"}} {
		if o, err := parse(c); err != nil || o.Out != "" {
			t.Errorf("%q would keep a partial run in %q (%v)", c, o.Out, err)
		}
	}
	if o, err := parse([]string{"-out", "x", "-version", "v1"}); err != nil || o.Out != "x" || o.Pairs != 9 || o.Scale != 10 || o.Version != "v1" {
		t.Errorf("%+v, %v", o, err)
	}
}
