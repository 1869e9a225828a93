// Package prefetch asks the processor for memory that will be needed soon, and does not wait for it. It is for programs
// that know what they will touch next, and jump about in more memory than fits its caches, such as a simulation of
// thousands of nodes. It is a wish, and never wrong: an address that is no longer good is not an error.
package prefetch
