package units

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrRate is what ParseRate fails with if a text is no rate.
var ErrRate = errors.New("no rate: write it as 200mbit, 40gbit or 2.5Gbit/s")

// rateUnits are what rates are counted in, the largest first.
var rateUnits = []struct {
	name string
	bits float64
}{{"Tbit", 1e12}, {"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}}

// MaxRate is the highest rate that can be written, in bits a second.
const MaxRate = 1e15

// Rate is a number of bits a second.
type Rate float64

// ParseRate reads a rate: a number and a unit (kbit, Mbit, Gbit, Tbit), with or without "/s". Small or capital letters do
// not matter.
func ParseRate(text string) (Rate, error) {
	word := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), "/s")
	for _, unit := range rateUnits {
		number, found := strings.CutSuffix(word, strings.ToLower(unit.name))
		if !found {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if rate := value * unit.bits; err == nil && rate >= 1 && rate <= MaxRate {
			return Rate(rate), nil
		}
		break
	}
	return 0, fmt.Errorf("%q is %w", text, ErrRate)
}

// String prints the rate in its largest unit, so that ParseRate reads it again.
func (r Rate) String() string {
	unit := rateUnits[len(rateUnits)-1]
	for _, larger := range rateUnits {
		if float64(r) >= larger.bits {
			unit = larger
			break
		}
	}
	return fmt.Sprintf("%v %s/s", float64(r)/unit.bits, unit.name)
}
