package migrate

import (
	"path"
	"regexp"
	"strings"
)

// Paths says which import path of theirs becomes which of ours.
type Paths struct {
	Theirs, Ours       string            // what the paths of all packages begin with
	TheirRoot, OurRoot string            // the packages that hold the short names
	Moved              map[string]string // what does not follow the rule, and packages of others
}

// ControllerRuntime has controller-runtime's packages, and those of client-go that users of it meet.
var ControllerRuntime = Paths{
	Theirs: "sigs.k8s.io/controller-runtime/pkg", Ours: "github.com/loopwright/loopwright/manager",
	TheirRoot: "sigs.k8s.io/controller-runtime", OurRoot: "github.com/loopwright/loopwright",
	Moved: map[string]string{
		"sigs.k8s.io/controller-runtime/pkg/manager":         "github.com/loopwright/loopwright/manager",
		"sigs.k8s.io/controller-runtime/pkg/manager/signals": "github.com/loopwright/loopwright/manager/signals",
		"k8s.io/client-go/tools/record":                      "github.com/loopwright/loopwright/manager/recorder/record",
		"k8s.io/client-go/tools/events":                      "github.com/loopwright/loopwright/manager/recorder/events",
		"k8s.io/client-go/util/workqueue":                    "github.com/loopwright/loopwright/workqueue",
		"k8s.io/client-go/tools/cache":                       "github.com/loopwright/loopwright/informer",

		"k8s.io/client-go/tools/leaderelection":              "github.com/loopwright/loopwright/manager/leaderelection",
		"k8s.io/client-go/tools/leaderelection/resourcelock": "github.com/loopwright/loopwright/manager/leaderelection/resourcelock",
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

// IsTheirs reports whether a package is one of those that are replaced as a whole, and not one that
// they borrow from somebody else.
func (p Paths) IsTheirs(importPath string) bool {
	return importPath == p.TheirRoot || strings.HasPrefix(importPath, p.Theirs+"/")
}

// IsOurs reports whether a package is one of this library.
func (p Paths) IsOurs(importPath string) bool {
	return importPath == p.OurRoot || strings.HasPrefix(importPath, p.OurRoot+"/")
}

// Typed matches the names of generic twins, such as TypedFuncs and NewTypedUnmanaged. There are none
// below manager.
var Typed = regexp.MustCompile(`(^|[a-z])Typed[A-Z]|Typed$`)

// forAnyObject matches the Typed names that do the same for each type of objects, so that no code of the program
// depends on the type argument.
var forAnyObject = regexp.MustCompile(`^Typed(EnqueueRequestFor(Object|Owner)|[A-Za-z]+ChangedPredicate)$`)
