// Package ours has the short names.
package ours

import "github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/ours/manager/thing"

type Thing = thing.Struct

var New = thing.New
