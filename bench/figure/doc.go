// Package figure is what comes out of experiments, for people: a table, drawings, and claims beside what was measured. A
// figure can be printed on a terminal, kept as JSON, and put on a page together with others.
package figure
