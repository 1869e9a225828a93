package tidy

import "strings"

// matches reports whether a package path fits one of the patterns. A pattern is a path; with "/..." behind it, that
// path and everything below; or "..." alone, everything.
func matches(patterns []string, path string) bool {
	for _, pattern := range patterns {
		if matchesOne(pattern, path) {
			return true
		}
	}
	return false
}

func matchesOne(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	base, deep := strings.CutSuffix(pattern, "/...")
	return path == base || deep && strings.HasPrefix(path, base+"/")
}

// words splits a list that would be tiresome to quote word by word.
func words(list ...string) []string { return strings.Fields(strings.Join(list, " ")) }
