package migrate

import (
	"path"
	"strings"
)

// Paths says which import path of theirs becomes which of ours.
type Paths struct {
	Theirs, Ours       string            // what the paths of all packages begin with
	TheirRoot, OurRoot string            // the packages that hold the short names
	Moved              map[string]string // what does not follow the rule
}

// ControllerRuntime has controller-runtime's packages. Those of client-go stay as they are: where one of
// its types meets a controller, as a queue, a rate limiter, an event handler or a recorder, it is ours, too.
var ControllerRuntime = Paths{
	Theirs: "sigs.k8s.io/controller-runtime/pkg", Ours: "github.com/loopwright/loopwright/manager",
	TheirRoot: "sigs.k8s.io/controller-runtime", OurRoot: "github.com/loopwright/loopwright",
	Moved: map[string]string{
		"sigs.k8s.io/controller-runtime/pkg/manager":         "github.com/loopwright/loopwright/manager",
		"sigs.k8s.io/controller-runtime/pkg/manager/signals": "github.com/loopwright/loopwright/manager/signals",
	},
}

// Counterpart returns our import path for one of theirs. It follows the rule; whether the package
// exists is another question.
func (p Paths) Counterpart(theirs string) (ours string, ok bool) {
	if ours, ok := p.Moved[theirs]; ok {
		return ours, true
	}
	if theirs == p.TheirRoot {
		return p.OurRoot, true
	}
	rest, ok := strings.CutPrefix(theirs, p.Theirs+"/")
	return path.Join(p.Ours, rest), ok
}

// IsTheirs reports whether a package is controller-runtime's.
func (p Paths) IsTheirs(importPath string) bool {
	return importPath == p.TheirRoot || strings.HasPrefix(importPath, p.Theirs+"/")
}

// IsOurs reports whether a package is one of this library.
func (p Paths) IsOurs(importPath string) bool {
	return importPath == p.OurRoot || strings.HasPrefix(importPath, p.OurRoot+"/")
}
