package informer

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// gauges is a MetricsProvider that remembers what it was given.
type gauges struct {
	mu   sync.Mutex // guards read
	read map[string]func() float64
}

func (g *gauges) Gauge(metric, kind, handler string, read func() float64) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := metric + " " + kind + " " + handler
	g.read[name] = read
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.read, name)
	}
}

func (g *gauges) value(t *testing.T, name string) float64 {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Contains(t, g.read, name)
	return g.read[name]()
}

// Nobody looks at a Registration while a cluster is in trouble. A dashboard must
// show which handler hangs, and how far it is behind.
func TestTheBacklogOfEachHandlerIsAMetric(t *testing.T) {
	metrics := &gauges{read: map[string]func() float64{}}
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Metrics: metrics}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		const hangs, quick = "informer_handler_backlog ConfigMap hangs", "informer_handler_backlog ConfigMap quick"
		hang := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(hang) })
		defer goOn()
		hanging := HandlerFuncs[*corev1.ConfigMap]{Add: func(*corev1.ConfigMap, bool) { <-hang }}
		add(t, i, hanging, HandlerOptions{Name: "hangs"})
		add(t, i, hanging, HandlerOptions{Name: "coalesces", Coalesce: true})
		registration := add(t, i, HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "quick"})
		start()
		w.create(t, "a", nil)
		synctest.Wait()
		require.Equal(t, 1.0, metrics.value(t, hangs), "a handler that hangs in its only call must not look like one that is done")
		for _, name := range []string{"b", "c", "d"} {
			w.create(t, name, nil)
		}
		for n := range 10 {
			w.change(t, "b", n)
			synctest.Wait()
		}
		require.Equal(t, 14.0, metrics.value(t, hangs), "the three, ten changes, and the call that it hangs in")
		require.Equal(t, 4.0, metrics.value(t, "informer_handler_backlog ConfigMap coalesces"), "the three, and the one that it hangs in")
		require.Zero(t, metrics.value(t, quick))

		registration.Remove()
		<-registration.Done()
		require.NotContains(t, metrics.read, quick, "a handler that is gone must leave the dashboard")
		goOn()
		stop()
		require.Empty(t, metrics.read)
	})
}

func TestAHandlerThatComesTooLateLeavesNoMetric(t *testing.T) {
	metrics := &gauges{read: map[string]func() float64{}}
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Metrics: metrics}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		start()
		stop()
		_, err := i.AddHandler(HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "late"})
		require.ErrorIs(t, err, errInformerStopped)
		require.Empty(t, metrics.read)
	})
}

// noteOfTheEnd is a MetricsProvider that looks, when it is told to forget a handler,
// whether the handler's end has been announced.
type noteOfTheEnd struct {
	done    <-chan struct{}
	forgets int
	tooLate bool
}

func (n *noteOfTheEnd) Gauge(string, string, string, func() float64) func() {
	return func() {
		n.forgets++
		select {
		case <-n.done:
			n.tooLate = true
		default:
		}
	}
}

// Who waits for Done, and adds a handler of the same name then, must find the name free.
func TestAHandlerLeavesTheDashboardBeforeItIsDone(t *testing.T) {
	var metrics noteOfTheEnd
	l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{}, instruments{metrics: &metrics})
	metrics.done = l.done
	l.end()
	require.Equal(t, 1, metrics.forgets)
	require.False(t, metrics.tooLate, "Done was closed while the gauge was still there")
	<-l.done
}
