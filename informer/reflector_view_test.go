package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// view is a Sink that checks that what it is told is a legal history.
type view struct {
	mu       sync.Mutex // guards all below
	objects  map[string]*corev1.ConfigMap
	replaces int
	applies  int
	progress int
	version  string
	illegal  []string
	changed  chan struct{} // closed at each change by the reflector's goroutine, received by until
}

func newView() *view { return &view{changed: make(chan struct{})} }

func (v *view) moveLocked(what, version string) {
	if order, err := resourceversion.CompareResourceVersion(version, v.version); err == nil &&
		order < 0 {
		v.illegal = append(v.illegal, fmt.Sprintf("%s went back from %s to %s", what, v.version, version))
	}
	v.version = version
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *view) Replace(items []*corev1.ConfigMap, resourceVersion string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.replaces++
	v.objects = map[string]*corev1.ConfigMap{}
	for _, item := range items {
		if v.objects[item.Name] != nil {
			v.illegal = append(v.illegal, "twice in a list: "+item.Name)
		}
		v.objects[item.Name] = item
	}
	v.moveLocked("Replace", resourceVersion)
}

func (v *view) Apply(event Event[*corev1.ConfigMap]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.applies++
	name := event.Object.Name
	if there := v.objects[name] != nil; there == (event.Type == watch.Added) {
		v.illegal = append(v.illegal, fmt.Sprintf("%s of %s, which was there: %v", event.Type, name,
			there))
	}
	if event.Type == watch.Deleted {
		delete(v.objects, name)
	} else {
		v.objects[name] = event.Object
	}
	v.moveLocked("Apply", event.ResourceVersion)
}

func (v *view) Progress(resourceVersion string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.progress++
	v.moveLocked("Progress", resourceVersion)
}

// values is what the view holds: name and value.
func (v *view) values() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	values := map[string]string{}
	for name, object := range v.objects {
		values[name] = object.Data["value"]
	}
	return values
}

// until waits until the view is as it should be.
func (v *view) until(t *testing.T, done func(*view) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		v.mu.Lock()
		ok, changed := done(v), v.changed
		v.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the view did not become what it should be: %d objects at %s", len(v.objects),
				v.version)
		}
	}
}

func (v *view) untilIsThere(t *testing.T, names ...string) {
	t.Helper()
	v.until(t, func(v *view) bool {
		if v.replaces == 0 || len(v.objects) != len(names) {
			return false
		}
		return !slices.ContainsFunc(names, func(name string) bool { return v.objects[name] == nil })
	})
}

// reflecting is a reflector that runs until the test ends or stop is called.
type reflecting struct {
	*Reflector[*corev1.ConfigMap]
	view     *view
	recorder *trace.Recorder
	stop     func() error
}

func runReflector(t *testing.T, w world, options ReflectorOptions) *reflecting {
	t.Helper()
	recorder := trace.New(0)
	options.Recorder = recorder
	r := &reflecting{view: newView(), recorder: recorder}
	r.Reflector = NewReflector(w.listWatch(t, ListWatchOptions{Recorder: recorder}),
		Sink[*corev1.ConfigMap](r.view), options)
	r.start(t)
	return r
}

func (r *reflecting) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1) // one result, which nobody may want
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		// a real server's machine may be busy; how fast it is has a test of its own
		case <-time.After(time.Minute):
			return errors.New("the reflector does not stop")
		}
	})
	t.Cleanup(func() { require.NoError(t, r.stop()) })
}

// legal checks what the sink noted.
func (r *reflecting) legal(t *testing.T) {
	t.Helper()
	r.view.mu.Lock()
	defer r.view.mu.Unlock()
	require.Empty(t, r.view.illegal, "the sink must be told a legal history")
}

// told is what the flight recorder knows, in short.
func (r *reflecting) told() string {
	var lines []string
	for _, event := range r.recorder.Events() {
		lines = append(lines, event.Kind.String()+" "+event.Reason)
	}
	return strings.Join(lines, "\n")
}

// inMemory runs a test against the in-memory API server, on a clock that does
// not wait. When it returns, no goroutine may be left, or synctest complains.
func inMemory(
	t *testing.T, options fakeapi.Options, test func(t *testing.T, s *fakeapi.Server, w world),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(options)
		t.Cleanup(server.Close)
		test(t, server, newWorld(t, server.Config(), metav1.NamespaceDefault))
	})
}

var (
	configMapLists   = fakeapi.Match{Resource: "configmaps", Verb: "list"}
	configMapWatches = fakeapi.Match{Resource: "configmaps", Verb: "watch"}
)
