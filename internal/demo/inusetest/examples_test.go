package inusetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the examples")

// examples are the files that show the programs in the documentation of the packages.
var examples = []struct{ program, file, layer, what string }{
	{"01-list-watch/inuse", "informer/listwatch_inuse", "ListWatch", "a ListWatch and a Cursor"},
	{"02-store/inuse", "informer/store_inuse", "Store", "a Store, whose index knows the work that is left"},
	{"03-reflector/inuse", "informer/reflector_inuse", "Reflector", "a Reflector"},
	{"05-shared/inuse", "informer/informer_inuse", "Informer", "an Informer, a handler and a lister"},
	{"06-queue/inuse", "workqueue/queue_inuse", "Queue", "an informer, a Queue and a worker"},
	{"07-delay/inuse", "workqueue/delaying_inuse", "DelayingQueue", "a DelayingQueue, which tries again after a second"},
	{"07-delay/inuse-rate-limiters", "workqueue/ratelimiting_inuse", "RateLimitingQueue", "a RateLimitingQueue, which backs off"},
	{"06-queue/inuse-priority", "workqueue/priority_queue_inuse", "PriorityQueue", "a PriorityQueue, in which users overtake the initial list"},
	{"08-controller/inuse", "manager/controller/inuse", "Controller", "a Controller, and a source of requests"},
	{"09-events/inuse", "manager/source/inuse", "Source", "a Source and a handler of events"},
	{"11-cache/inuse", "manager/cache/inuse", "Cache", "a Cache, and a Client that reads from it"},
	{"13-lease/inuse", "manager/leaderelection/elector_inuse", "Elector", "the same in each of several replicas, of which one leads"},
	{"14-manager/inuse", "manager/inuse", "Manager", "a Manager, which starts and stops all of it"},
	{"15-finalizer/inuse", "manager/controller/controllerutil/owner_inuse", "Ownership", "CreateOrUpdate, and a copy that the ConfigMap owns"},
	{"16-apply/inuse", "manager/client/apply_inuse", "Apply", "an apply of the one field that's meant"},
	{"18-defaulting/inuse", "manager/webhook/inuse", "Webhook", "a Defaulter, which the API server asks before it stores anything"},
}

// compiled are the programs that have a job of their own. Their examples are shown, and not run: they need a cluster.
var compiled = []struct{ program, file, layer, what string }{
	{"22-replicaset/inuse", "controllers/replicaset/inuse", "ReplicaSet", "The controller in a program that may run in several replicas, of which one works."},
	{"24-rolling/inuse", "controllers/deployment/inuse", "Deployment", "The controller, with that of ReplicaSets, in a program that may run in several replicas, of which one works."},
	{"27-endpoints/inuse", "controllers/endpoints/inuse", "Endpoints", "The controller in a program that may run in several replicas, of which one works."},
}

// Somebody who reads the documentation of a package sees the same program as the reader of
// the chapter. If a program has changed, run this test with -update.
func TestTheExamplesInTheDocumentationAreThePrograms(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	programs, err := filepath.Glob(filepath.Join(root, "chapters", "*", "inuse*", "main.go"))
	require.NoError(t, err)
	require.Len(t, programs, len(examples)+len(compiled), "a program has no example in the list above")
	for _, e := range examples {
		program, text := read(t, root, e.program)
		compare(t, root, program, e.file, example(t, text, program, e.file, e.layer, e.what))
	}
	for _, e := range compiled {
		program, text := read(t, root, e.program)
		call := fmt.Sprintf("// %s\nfunc Example_%s() { inuse.Main(keepWith%s) }", e.what, strings.ToLower(e.layer[:1])+e.layer[1:], e.layer)
		text = strings.Replace(bodyOf(t, text, program), mainFunction, call, 1)
		compare(t, root, program, e.file, file(program, e.file, strings.Replace(text, "func keep(", "func keepWith"+e.layer+"(", 1)))
	}
}

// read returns the name of a chapter's program, and the program.
func read(t *testing.T, root, dir string) (program, text string) {
	t.Helper()
	program = "chapters/" + dir + "/main.go"
	data, err := os.ReadFile(filepath.Join(root, program))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(data), "\n"), 50, "%s has too many lines for a small program", program)
	return program, string(data)
}

func compare(t *testing.T, root, program, file, want string) {
	t.Helper()
	file = filepath.Join(root, file+"_example_test.go")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "%s is not what %s has become: go test ./internal/demo/inusetest -update", file, program)
}

const (
	mainFunction = "func main() { inuse.Main(keep) }"
	ownImport    = "\t\"github.com/loopwright/loopwright/internal/demo/inuse\"\n"
)

// bodyOf is a program without what comes before its imports.
func bodyOf(t *testing.T, text, program string) string {
	t.Helper()
	_, body, hasMain := strings.Cut(text, "package main\n")
	require.True(t, hasMain && strings.Contains(body, mainFunction) && strings.Contains(body, ownImport), "%s: it does not look like the other programs", program)
	return body
}

func file(program, path, body string) string {
	return fmt.Sprintf("// Code generated from %s by a test in internal/demo/inusetest. DO NOT EDIT.\n\npackage %s_test\n%s", program, filepath.Base(filepath.Dir(path)), body)
}

// example makes a whole-file example of a program: its functions, and a call.
func example(t *testing.T, program, path, name, layer, what string) string {
	t.Helper()
	body := bodyOf(t, program, path)
	call := fmt.Sprintf(`// The job of the course with %s: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_%s() {
	inusetest.Show(keepWith%s)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}`, what, strings.ToLower(layer[:1])+layer[1:], layer)
	for _, edit := range [][2]string{
		{mainFunction, call},
		{"func keep(", "func keepWith" + layer + "("},
		{ownImport, ownImport + strings.Replace(ownImport, "inuse\"", "inusetest\"", 1)},
	} {
		body = strings.Replace(body, edit[0], edit[1], 1)
	}
	return file(path, name, body)
}
