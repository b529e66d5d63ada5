package log

import "github.com/loopwright/loopwright"

func Name() string { return loopwright.Name() }

func Kept() bool { return true }
