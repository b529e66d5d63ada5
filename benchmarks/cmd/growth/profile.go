package main

import (
	"errors"
	"os"
	"runtime/pprof"
)

// profile writes processor profiles of the steps of a measured process, to files whose names begin with this. It's empty if
// nobody wants them: they cost some time.
type profile string

// during runs a step.
func (p profile) during(name string, step func() error) (err error) {
	if p == "" {
		return step()
	}
	file, err := os.Create(string(p) + "-" + name + ".cpu")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return step()
}
