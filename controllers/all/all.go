// Package all has all controllers of this library by name, for programs that let their users
// choose.
//
//	names -> Add -> each controller's Add -> manager
//
// Neighbours: below it are the controllers. Above it are controllers/cmd/controllers, which runs
// them, and the demo.
package all

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/controllers/garbagecollector"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/manager"
)

// GarbageCollector is the name of the one controller that works in all namespaces, whatever the
// manager's cache has.
const GarbageCollector = "garbagecollector"

// known are the controllers, under their names in a manager's settings and metrics. An optional
// controller runs only if the user names it: clusters run Kubernetes' own by default.
var known = []struct {
	name     string
	add      func(manager.Manager, controllers.Options) error
	optional bool
}{
	{"deployment", deployment.Add, false},
	{"replicaset", replicaset.Add, false},
	{"endpoints", endpoints.Add, false},
	{"endpointslice", endpoints.AddSlices, true},
	{GarbageCollector, garbagecollector.Add, true},
}

// Default lists the controllers that aren't optional.
func Default() (names []string) {
	for _, c := range known {
		if !c.optional {
			names = append(names, c.name)
		}
	}
	return names
}

// Names lists the controllers.
func Names() (names []string) {
	for _, c := range known {
		names = append(names, c.name)
	}
	return names
}

// Check returns an error if a name is unknown, or if there are no names.
func Check(names ...string) error {
	if len(names) == 0 {
		return fmt.Errorf("no controller is chosen: there are %s", strings.Join(Names(), ", "))
	}
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no controller %q: there are %s", name,
				strings.Join(Names(), ", "))
		}
	}
	return nil
}

// Add adds the controllers with these names to a manager, all with the same options. It ignores the
// order of the names, and duplicates.
func Add(mgr manager.Manager, options controllers.Options, names ...string) error {
	if err := Check(names...); err != nil {
		return err
	}
	var failures []error
	for _, c := range known {
		if slices.Contains(names, c.name) {
			failures = append(failures, c.add(mgr, options))
		}
	}
	return errors.Join(failures...)
}
