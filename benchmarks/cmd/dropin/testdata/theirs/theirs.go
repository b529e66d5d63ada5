// Package theirs has the short names.
package theirs

import "github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/theirs/pkg/thing"

type Thing = thing.Struct

var New = thing.New
