package tidy

import "regexp"

// unfinished matches the marks of work that somebody else is supposed to do.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

func checkUnfinished(f *file, report report) {
	for _, group := range f.tree.Comments {
		for _, c := range group.List {
			if mark := unfinished.FindString(c.Text); mark != "" {
				report(c.Pos(), "%s: finish it, or leave it out", mark)
			}
		}
	}
}
