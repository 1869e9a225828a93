package machine

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestScriptInShell has a real shell read hard words.
func TestScriptInShell(t *testing.T) {
	words := []string{"", "a b", "it's", `"$HOME"`, "`id`", "x\ny", `\`, "é", "*"}
	text := script("/", []string{"WEFT_X=a 'b' $c", "no name=1", "9=1", "=C:"}, append([]string{"printf", `%s\0`}, words...))
	out, err := exec.Command("sh", "-c", text+`command_line; printf '%s\0' "$WEFT_X"; pwd`).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := append(words, "a 'b' $c", "/\n")
	if got := strings.Split(string(out), "\x00"); !slices.Equal(got, want) {
		t.Errorf("the shell read\n%q, not\n%q", got, want)
	}
}

// unquote is what a shell does with a word of single quotes and \'.
func unquote(word string) (string, bool) {
	var b strings.Builder
	for word != "" {
		switch rest, isEscape := strings.CutPrefix(word, `\'`); {
		case isEscape:
			b.WriteByte('\'')
			word = rest
		case word[0] == '\'':
			text, rest, closed := strings.Cut(word[1:], "'")
			if !closed {
				return "", false
			}
			b.WriteString(text)
			word = rest
		default:
			return "", false
		}
	}
	return b.String(), true
}

func FuzzQuote(f *testing.F) {
	f.Add("it's '' \\' $(id)")
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := unquote(quote(text)); !ok || got != text {
			t.Errorf("%q became %q", text, quote(text))
		}
	})
}
