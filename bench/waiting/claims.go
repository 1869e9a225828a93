package waiting

// comparisons are what the paper says of waiting and of NICs that relay, as far as processes of one machine can show it: in the paper
// every member has cores of its own, and here they share them. Within a host it is the bytes that take the processors' time,
// on limited links it is waiting for them.
func comparisons() []comparison {
	return append(waitComparisons(), chainComparisons()...)
}

func waitComparisons() []comparison {
	return []comparison{
		{name: "100 MB: rate, hybrid ÷ polling",
			text: "100 MB: hybrid waiting is not slower than polling (section 5.2.3): at least 0.85 × its rate",
			of:   by(hybrid, large), with: waitingBy(polling), value: rate, bound: 0.85},
		{name: "100 MB: rate, sleeping ÷ hybrid",
			text: "100 MB: sleeping costs little rate (section 5.2.3): at least 0.8 × the hybrid's",
			of:   by(sleeping, large), with: waitingBy(hybrid), value: rate, bound: 0.8},
		{name: "10 KB: rate, sleeping ÷ hybrid",
			text: "10 KB: sleeping still has at least 0.5 × the hybrid's rate",
			of:   by(sleeping, small), with: waitingBy(hybrid), value: rate, bound: 0.5},
		{name: "100 MB: processor time, sleeping ÷ polling",
			text: "100 MB on limited links: sleeping members need much less of the processors than polling ones (section 5.2.3): at most 0.5 ×",
			of:   onLinks(by(sleeping, large)), with: waitingBy(polling), value: processors, bound: 0.5, atMost: true},
		{name: "100 MB: processor time, hybrid ÷ polling",
			text: "100 MB on limited links: hybrid members need less of them too: at most 0.9 ×",
			of:   onLinks(by(hybrid, large)), with: waitingBy(polling), value: processors, bound: 0.9, atMost: true},
		{name: "100 MB: processor time, sleeping ÷ polling",
			text: "100 MB within a host: sleeping members need no more of them: at most 1.1 ×",
			of:   onHost(by(sleeping, large)), with: waitingBy(polling), value: processors, bound: 1.1, atMost: true},
	}
}

func chainComparisons() []comparison {
	return []comparison{
		{name: "100 MB, sleeping: rate, NICs ÷ hosts",
			text: "100 MB, sleeping: NICs that relay are not slower than the members' loops (section 4.4): at least 0.9 × their rate",
			of:   chained(sleeping, large), with: byLoops, value: rate, bound: 0.9},
		{name: "100 MB, sleeping: processor time, NICs ÷ hosts",
			text: "100 MB, sleeping: NICs that relay need no more of the processors: at most 1.1 ×",
			of:   chained(sleeping, large), with: byLoops, value: processors, bound: 1.1, atMost: true},
		{name: "100 MB, hybrid: rate, NICs ÷ hosts",
			text: "100 MB, hybrid: NICs that relay are not slower than the members' loops: at least 0.9 × their rate",
			of:   chained(hybrid, large), with: byLoops, value: rate, bound: 0.9},
		{name: "1 MB, hybrid: rate, NICs ÷ hosts",
			text: "1 MB within a host, hybrid: NICs that relay are faster, blocks being so short: at least 1.1 × the rate",
			of:   onHost(chained(hybrid, middle)), with: byLoops, value: rate, bound: 1.1},
	}
}

func rate(s sample) float64       { return s.rate }
func megabytes(s sample) float64  { return s.rate / 1e6 }
func processors(s sample) float64 { return s.perGB }
func cores(s sample) float64      { return s.cores }

// by picks a way to wait, where loops send blocks on.
func by(wait string, size size) func(*place, setting) bool {
	return func(_ *place, s setting) bool { return s.wait == wait && s.size == size && !s.chains }
}

// chained picks a way to wait, where chains send blocks on.
func chained(wait string, size size) func(*place, setting) bool {
	return func(_ *place, s setting) bool { return s.wait == wait && s.size == size && s.chains }
}

func onLinks(of func(*place, setting) bool) func(*place, setting) bool {
	return func(p *place, s setting) bool { return p.links != nil && of(p, s) }
}

func onHost(of func(*place, setting) bool) func(*place, setting) bool {
	return func(p *place, s setting) bool { return p.links == nil && of(p, s) }
}

// waitingBy is the same with another way to wait.
func waitingBy(wait string) func(setting) setting {
	return func(s setting) setting { return s.waiting(wait) }
}

// byLoops is the same without chains.
func byLoops(s setting) setting {
	s.chains = false
	return s
}
