package rdmc

import "errors"

// A word is what members say to each other beside data: an immediate without bytes, kind (4 bits) · value (28 bits).
type word uint32

type wordKind uint8

// The kinds of words. Zero is none, so that an immediate nobody set is noticed.
const (
	wordCredit wordKind = iota + 1 // receives are posted: value is how many more
	wordFailed                     // the group has ended: value is a cause and a rank
	wordLeft                       // the member has left: value is the rank of who left first, which may be another
	wordPing                       // a sign of life is wanted
	wordPong                       // here it is
)

const (
	valueBits = 28
	rankBits  = 21
	noRank    = 1<<rankBits - 1 // no group has so many members that this is one
)

func makeWord(kind wordKind, value int) word {
	return word(kind)<<valueBits | word(value)&(1<<valueBits-1)
}

func (w word) kind() wordKind { return wordKind(w >> valueBits) }
func (w word) value() int     { return int(w & (1<<valueBits - 1)) }

// causes are what a failure can be said to others as, by index.
var causes = [...]error{ErrDied, ErrSilent, ErrLeft, ErrProtocol, ErrRejected, ErrMemory, ErrDevice}

// failedWord says who failed, and why as far as others need to know.
func failedWord(f *Failure) word {
	rank, code := f.Rank, 0
	if rank == Unknown {
		rank = noRank
	}
	for i, cause := range causes {
		if errors.Is(f.Cause, cause) {
			code = i
		}
	}
	return makeWord(wordFailed, code<<rankBits|rank)
}

// failed reads what failedWord wrote. It is not ok if there is no such cause, or no such member.
func (w word) failed(members int) (rank int, cause error, ok bool) {
	rank, code := w.value()&noRank, w.value()>>rankBits
	if code >= len(causes) || rank >= members && rank != noRank {
		return 0, nil, false
	}
	if rank == noRank {
		rank = Unknown
	}
	return rank, causes[code], true
}
