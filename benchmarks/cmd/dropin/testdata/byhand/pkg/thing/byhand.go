package thing

import loopwright "github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/ours/manager/thing"

func ByHand() string { return loopwright.ByHand() + " by hand" }

func Mistyped() {}
