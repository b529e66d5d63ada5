// Package build makes the figures of the book: it knows which files of the library a module of figures is made of,
// compiles it to WebAssembly, and packs it for a page.
//
// The figures use the library's own files. What a figure needs is not exported, so a small bridge file is compiled
// into the library's package; and where the rest of a package is of no use in a page, and heavy, it is left out. The
// go command's -overlay does both. Nothing is copied, and nothing of it is part of any other build.
//
// Where a core imports a heavy package for the sake of a name, a light package that has the name takes its place in the
// file's import, and nowhere else in the file.
//
// Neighbours: below it is the go command. Above it are the command docs/book/cmd/figures, and the tests.
package build

// Module is what a page loads at once: the figures of a part.
type Module struct {
	Name    string
	Figures []string // as in the chapters' markers
	Limit   int      // bytes, compressed
	Slices  []Slice
}

// Slice is what a module has of a package of the library.
type Slice struct {
	Dir    string   // of the package, from the root
	Keep   []string // its files that are compiled; nil is all
	Bridge string   // the file that is added, in docs/book/figures/bridge
	Light  []Light  // imports of these files that others take the place of
}

// Light is an import that is replaced, in all files of a slice that have it.
type Light struct{ Heavy, By string }

// light is where the light packages are.
const light = "github.com/loopwright/loopwright/docs/book/figures/light/"

// Modules are all modules.
var Modules = []Module{
	{
		Name: "queueing", Figures: []string{"queue", "delays", "priority"}, Limit: 1_000_000,
		Slices: []Slice{{
			Dir: "workqueue", Bridge: "workqueue/bridge.go",
			Light: []Light{{"k8s.io/client-go/util/workqueue", light + "workqueue"}},
		}},
	},
	{
		Name: "watching", Figures: []string{"reflector", "listener"}, Limit: 1_500_000,
		Slices: []Slice{{
			Dir: "informer", Bridge: "informer/bridge.go",
			Keep: []string{
				"reflector_machine.go", "reflector_machine_steps.go", "reflector_backoff.go",
				"listwatch_cursor.go", "delta.go", "informer_handler.go",
			},
			Light: []Light{
				{"k8s.io/apimachinery/pkg/watch", light + "watch"},
				{"k8s.io/apimachinery/pkg/apis/meta/v1", light + "metav1"},
				{"k8s.io/apimachinery/pkg/api/errors", light + "apierrors"},
			},
		}},
	},
	{
		Name: "controllers", Figures: []string{"rollout", "ranking", "packing"}, Limit: 5_000_000,
		Slices: []Slice{
			{
				Dir: "controllers/deployment", Bridge: "deployment/bridge.go",
				Keep: []string{"rolling.go"},
			},
			{Dir: "controllers/replicaset", Bridge: "replicaset/bridge.go", Keep: []string{"rank.go"}},
			{
				Dir: "controllers/endpoints", Bridge: "endpoints/bridge.go",
				Keep: []string{"subsets.go", "addresses.go", "object.go"},
			},
		},
	},
}
