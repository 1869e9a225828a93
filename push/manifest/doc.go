// Package manifest says what a push consists of: its entries, how their bytes are cut into blocks, and the signed pages of
// hashes by which every block can be checked.
package manifest
