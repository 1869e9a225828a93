package rdmc

import "testing"

func TestTold(t *testing.T) {
	if f := (&Failure{Rank: 2, Cause: because(ErrDied, &told{1, "b"})}); !f.Told() {
		t.Errorf("%v was told by another member", f)
	}
	if f := (&Failure{Rank: 2, Cause: because(ErrDied, nil)}); f.Told() {
		t.Errorf("%v was seen here", f)
	}
}
