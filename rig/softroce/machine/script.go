package machine

import (
	"fmt"
	"strings"
)

// script is what the guest reads as a shell script: the variables, and the command as a function.
func script(folder string, env, command []string) string {
	var b strings.Builder
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && isName(name) {
			fmt.Fprintf(&b, "export %s=%s\n", name, quote(value))
		}
	}
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = quote(word)
	}
	fmt.Fprintf(&b, "command_line() {\n\tcd %s && %s\n}\n", quote(folder), strings.Join(words, " "))
	return b.String()
}

// quote makes one word of a text, whatever is in it, for a shell. (Zero bytes cannot be in arguments of programs.)
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// isName reports whether a shell can have a variable of that name.
func isName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
