// Package dropin tries programs that were written for controller-runtime on this library, without a
// change to their source: the module in dropin/ takes controller-runtime's place, by two replace
// lines in go.mod.
//
// The way of the data: program.go reads a program's go.mod, and refuses what can't be tried; lines.go
// adds the two lines; use.go writes them into the tree and takes them away again. try.go has two
// copies of go.mod elsewhere, one with the lines, and builds and runs each package's tests with both:
// command.go runs the go command and test programs, log.go reads what tests did, ginkgo.go what the
// specs of a suite did, and table.go prints what differs.
//
// Above it is the command cmd/loopwright.
package dropin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

const (
	original   = "sigs.k8s.io/controller-runtime"
	loopwright = "github.com/loopwright/loopwright"
)

// Checkout is a checkout of this library.
type Checkout struct {
	Dir string // absolute
	// Stands is the version of controller-runtime that its drop-in stands for.
	Stands module.Version
	// kubernetes is the version of Kubernetes' libraries that goes with it.
	kubernetes string
}

// OpenCheckout looks at a checkout of this library.
func OpenCheckout(dir string) (*Checkout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	version, err := os.ReadFile(filepath.Join(dir, "dropin", "version.txt"))
	if err != nil {
		return nil, fmt.Errorf("%s is no checkout of Loopwright with a drop-in: %w", dir, err)
	}
	name := filepath.Join(dir, "dropin", "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	c := &Checkout{Dir: dir, Stands: module.Version{Path: original, Version: strings.TrimSpace(string(version))}}
	if i := slices.IndexFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == "k8s.io/api" }); i >= 0 {
		c.kubernetes = file.Require[i].Mod.Version
	}
	return c, nil
}
