package manager

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/healthz"
)

// world is an API server in memory, and a manager of it. Tests run in a bubble: time passes when
// everybody waits, and a goroutine that is left at the end fails the test.
type world struct {
	t      *testing.T
	server *fakeapi.Server
	live   *kubernetes.Clientset
	logged story
}

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: fakeapi.New(fakeapi.Options{})}
		defer w.server.Close()
		var err error
		w.live, err = kubernetes.NewForConfig(w.server.Config())
		require.NoError(t, err)
		test(t, w)
	})
}

// log is what the managers have logged.
func (w *world) log() string { return strings.Join(w.logged.told(), "\n") }

// manager makes one that logs into the world's log.
func (w *world) manager(options Options) *controllerManager {
	w.t.Helper()
	options.Logger = funcr.New(func(_, line string) { w.logged.say("%s", line) }, funcr.Options{})
	options.Metrics.BindAddress = "0"
	m, err := New(w.server.Config(), options)
	require.NoError(w.t, err)
	return m.(*controllerManager)
}

// running is a manager that was started.
type running struct {
	*controllerManager
	t     *testing.T
	stop  context.CancelCauseFunc
	ended chan error // Start's answer
}

func (w *world) start(m *controllerManager) *running {
	w.t.Helper()
	ctx, stop := context.WithCancelCause(context.Background())
	r := &running{controllerManager: m, t: w.t, stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- m.Start(ctx) }()
	synctest.Wait()
	return r
}

func (r *running) end() error {
	r.t.Helper()
	r.stop(nil)
	return <-r.ended
}

// members are the runnables of a group that wait for its start, or run.
func (g *groups) members(name groupName) []Runnable {
	group := g.all[name]
	group.mu.Lock()
	defer group.mu.Unlock()
	var all []Runnable
	for _, m := range slices.Concat(group.running, group.waiting) {
		all = append(all, m.runnable)
	}
	return all
}

func (r *running) isElected() bool {
	select {
	case <-r.Elected():
		return true
	default:
		return false
	}
}

func (w *world) configMap(name string) {
	w.t.Helper()
	_, err := w.live.CoreV1().ConfigMaps("default").Create(w.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// requestsOf are the verbs with which a resource was asked for, once each.
func (w *world) requestsOf(resource string) []string {
	var verbs []string
	for _, r := range w.server.Requests(fakeapi.Match{Resource: resource}) {
		if !slices.Contains(verbs, r.Verb) {
			verbs = append(verbs, r.Verb)
		}
	}
	return verbs
}

var errRefused = errors.New("this server does not start")

// refusingServer is a webhook server whose Start fails.
type refusingServer struct{ mux *http.ServeMux }

func (*refusingServer) NeedLeaderElection() bool { return false }

func (s *refusingServer) Register(path string, hook http.Handler) { s.mux.Handle(path, hook) }

func (*refusingServer) Start(context.Context) error { return errRefused }

func (*refusingServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error { return errRefused }
}

func (s *refusingServer) WebhookMux() *http.ServeMux { return s.mux }
