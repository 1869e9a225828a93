package waiting

// comparisons are what the paper says of waiting and of chains, as far as processes of one machine can show it: in the paper
// every member has cores of its own, and here they share them. So what polls takes the core from a member that has work.
func comparisons() []comparison {
	rate := func(s sample) float64 { return s.rate }
	cpu := func(s sample) float64 { return s.perGB }
	hosts := func(wait string, size size) func(string, setting) bool {
		return func(_ string, s setting) bool { return s.wait == wait && s.size == size && !s.chains }
	}
	chained := func(wait string) func(string, setting) bool {
		return func(_ string, s setting) bool { return s.wait == wait && s.size == large && s.chains }
	}
	instead := func(wait string) func(setting) setting {
		return func(s setting) setting { return s.waiting(wait) }
	}
	byHosts := func(s setting) setting { s.chains = false; return s }
	return []comparison{
		{"100 MB: hybrid waiting is not slower than polling (section 5.2.3): its rate is at least 0.85 ×",
			hosts(hybrid, large), instead(polling), rate, 0.85, false},
		{"100 MB: sleeping costs little rate (section 5.2.3): it is at least 0.8 × hybrid's",
			hosts(sleeping, large), instead(hybrid), rate, 0.8, false},
		{"100 MB: sleeping members need less of the processors than polling ones (section 5.2.3): at most 0.7 ×",
			hosts(sleeping, large), instead(polling), cpu, 0.7, true},
		{"10 KB: sleeping still has at least 0.5 × hybrid's rate",
			hosts(sleeping, small), instead(hybrid), rate, 0.5, false},
		{"100 MB: chains of members that sleep are not slower than their loops (section 4.4): at least 0.9 × the rate",
			chained(sleeping), byHosts, rate, 0.9, false},
		{"100 MB: chains of members that sleep need no more of the processors than their loops: at most 1.1 ×",
			chained(sleeping), byHosts, cpu, 1.1, true},
		{"100 MB: chains of members that poll and sleep are not slower than their loops: at least 0.9 × the rate",
			chained(hybrid), byHosts, rate, 0.9, false},
	}
}
