package contest

// Result is one row of the table.
type Result struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
	Bound  float64 `json:"bound,omitempty"` // 0 and not AtMost: there is none, the number stands beside for comparison
	AtMost bool    `json:"at_most,omitempty"`
	Failed string  `json:"failed,omitempty"` // why there is no value
	Others float64 `json:"others,omitempty"` // cores that others used meanwhile, if that is not little
	Why    string  `json:"why,omitempty"`    // it misses its bound, as far as that is known; shown only if it does

	// Of a contest only.
	Peer     string  `json:"peer,omitempty"`
	PairUnit string  `json:"pair_unit,omitempty"`
	Pairs    []Pair  `json:"pairs,omitempty"` // in the order of time
	Low      float64 `json:"low,omitempty"`   // the smallest ratio of a pair
	High     float64 `json:"high,omitempty"`
}

// bounded reports whether the value has to reach something.
func (r Result) bounded() bool { return r.Bound != 0 || r.AtMost }

func (r Result) met() bool {
	switch {
	case r.Failed != "":
		return false
	case r.AtMost:
		return r.Value <= r.Bound
	}
	return r.Value >= r.Bound
}

// MetByMedianOnly reports whether the bound is met, but not in every round.
func (r Result) MetByMedianOnly() bool {
	worst := r
	worst.Value = map[bool]float64{true: r.High, false: r.Low}[r.AtMost]
	return r.bounded() && r.met() && len(r.Pairs) > 0 && !worst.met()
}
