package crew

import "github.com/weft-fabric/weft/verbs/driver"

// lie makes other requests of one.
type lie struct {
	byRoot bool // the root can tell it; everybody else can anyway
	tell   func(*liar, driver.Request) []driver.Request
}

// The kinds of words, in the upper four bits of an immediate.
const (
	wordCredit = 1
	wordFailed = 2
	wordPong   = 5
)

// headerLength is that of a header, which stands in front of a block.
const headerLength = 32

// lies are what a hostile member can say, by name.
var lies = map[string]lie{
	"another block":       onData(func(r *driver.Request) { r.Imm++ }),
	"no immediate":        onData(func(r *driver.Request) { r.Op = driver.OpSend }),
	"too short":           onData(func(r *driver.Request) { last(r).Length-- }),
	"too long":            onData(func(r *driver.Request) { last(r).Length++ }),
	"much too long":       onData(func(r *driver.Request) { last(r).Length *= 2 }),
	"blocks twice":        {true, twice},
	"no magic":            inHeader(0, 0xff),
	"another version":     inHeader(4, 2),
	"another block size":  inHeader(9, 0x77),
	"another first block": inHeader(12, 0x77),
	"another number":      inHeader(16, 9),
	"an absurd size":      inHeader(31, 0xff),
	"no such word":        forCredits(0xf << 28),
	"no word":             forCredits(0),
	"no credits":          forCredits(wordCredit << 28),
	"endless credits":     forCredits(wordCredit<<28 | 1<<28 - 1),
	"more credits":        forCredits(wordCredit<<28 | 3),
	"a pong unasked":      forCredits(wordPong << 28),
	"no such member":      forCredits(wordFailed<<28 | 1000),
	"no such cause":       forCredits(wordFailed<<28 | 99<<21),
	"bytes for words":     {false, bytesForWords},
	"silence":             {false, func(*liar, driver.Request) []driver.Request { return nil }},
}

// isWord reports whether a request goes by the control pair.
func isWord(r *driver.Request) bool { return r.Span.Length == 0 && len(r.More) == 0 }

// last is the last piece of a request.
func last(r *driver.Request) *driver.Span {
	if n := len(r.More); n > 0 {
		return &r.More[n-1]
	}
	return &r.Span
}

func onData(alter func(*driver.Request)) lie {
	return lie{true, func(_ *liar, r driver.Request) []driver.Request {
		if !isWord(&r) {
			alter(&r)
		}
		return []driver.Request{r}
	}}
}

// twice sends blocks twice, the second time without a credit.
func twice(_ *liar, r driver.Request) []driver.Request {
	if isWord(&r) {
		return []driver.Request{r}
	}
	quiet := r
	quiet.Flags |= driver.Quiet
	return []driver.Request{quiet, r}
}

// inHeader changes a byte of the headers that are sent.
func inHeader(at int, value byte) lie {
	return lie{true, func(l *liar, r driver.Request) []driver.Request {
		if r.Span.Length == headerLength {
			l.bytes(r.Span)[at] = value
		}
		return []driver.Request{r}
	}}
}

// forCredits says another word for each that gives credits.
func forCredits(other uint32) lie {
	return lie{false, func(_ *liar, r driver.Request) []driver.Request {
		if isWord(&r) && r.Imm>>28 == wordCredit {
			r.Imm = other
		}
		return []driver.Request{r}
	}}
}

// bytesForWords sends bytes where only words go.
func bytesForWords(l *liar, r driver.Request) []driver.Request {
	if isWord(&r) {
		region := l.memory[0].Region()
		r.Span = driver.Span{Address: region.Address, Length: 8, Key: region.LocalKey}
	}
	return []driver.Request{r}
}
