package recorder

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/metrics"
)

// world is a writer that runs against an in-memory API server, in a synctest bubble.
type world struct {
	*testing.T
	*Writer
	server *fakeapi.Server
	client kubernetes.Interface
	stop   context.CancelFunc
	ended  chan error

	mu  sync.Mutex // guards log
	log []string
}

func inWorld(t *testing.T, options Options, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		w := prepare(t, server, options)
		w.begins()
		test(w)
		require.NoError(t, w.ends())
	})
}

func prepare(t *testing.T, server *fakeapi.Server, options Options) *world {
	t.Helper()
	w := &world{T: t, server: server, client: kubernetes.NewForConfigOrDie(server.Config()),
		ended: make(chan error, 1)}
	options.Logger = funcr.New(func(_, args string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, args)
	}, funcr.Options{})
	writer, err := New(server.Config(), &http.Client{Transport: server.Config().Transport},
		scheme.Scheme, options)
	require.NoError(t, err)
	w.Writer = writer
	return w
}

func (w *world) begins() {
	ctx, stop := context.WithCancel(w.T.Context())
	w.stop = stop
	go func() { w.ended <- w.Writer.Run(ctx) }()
	synctest.Wait()
}

func (w *world) ends() error {
	if w.stop == nil {
		return nil
	}
	w.stop()
	w.stop = nil
	return <-w.ended
}

// written is what kubectl would show: type, reason, note and count, in the order of their times.
func (w *world) written(namespace string) (lines []string) {
	w.Helper()
	synctest.Wait()
	for _, e := range w.objects(namespace) {
		line := fmt.Sprintf("%s %s %s %s %s", e.Type, e.Reason, e.Action, e.Regarding.Name, e.Note)
		if e.Series != nil {
			line += fmt.Sprintf(" x%d", e.Series.Count)
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) objects(namespace string) []eventsv1.Event {
	w.Helper()
	list, err := w.client.EventsV1().Events(namespace).List(w.T.Context(), metav1.ListOptions{})
	require.NoError(w, err)
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int {
		return strings.Compare(a.Name, b.Name)
	})
	return list.Items
}

func (w *world) requests() (verbs []string) {
	synctest.Wait()
	for _, r := range w.server.Requests(fakeapi.Match{Group: "events.k8s.io"}) {
		if r.Verb != "list" {
			verbs = append(verbs, r.Verb)
		}
	}
	w.server.ForgetRequests()
	return verbs
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log, "\n")
}

// lostFor returns how many events were lost in this process, for this reason.
func lostFor(t *testing.T, reason string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "loopwright_events_lost_total" &&
				m.GetLabel()[0].GetValue() == reason {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "1"}}
}

func TestAnEventIsWrittenWithAllThatKubectlShows(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.GetEventRecorder("shop.example.com/websites").AnnotatedEventf(pod("a"), pod("b"),
			map[string]string{"run": "7"}, "Normal", "Scaled", "Scale", "now %d", 3)
		synctest.Wait()
		e := w.objects("default")[0]
		require.True(t, strings.HasPrefix(e.Name, "a."), e.Name)
		require.Equal(t, "7", e.Annotations["run"])
		require.Equal(t, time.Now(), e.EventTime.Local())
		require.Equal(t, "shop.example.com/websites", e.ReportingController)
		host, err := os.Hostname()
		require.NoError(t, err)
		require.Equal(t, "shop.example.com/websites-"+host, e.ReportingInstance,
			"the host is the Pod")
		require.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default",
			Name: "a", UID: "1"}, e.Regarding)
		require.Equal(t, "b", e.Related.Name)
		require.Equal(t, []string{"Normal Scaled Scale a now 3"}, w.written("default"))
	})
}

func TestARepeatedEventBecomesASeries(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorder("websites")
		for range 100 {
			r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
			time.Sleep(10 * time.Second)
		}
		require.Equal(t, []string{"create", "patch", "patch", "patch", "patch"}, w.requests())
		time.Sleep(refreshEvery)
		require.Equal(t, []string{"Warning Failed Create a no room x100"}, w.written("default"))
		require.Equal(t, time.Now().Add(-refreshEvery-10*time.Second),
			w.objects("default")[0].Series.LastObservedTime.Local())
	})
}

// kube-apiserver forgets events after an hour.
func TestASeriesWhoseEventHasGoneIsCreatedAgain(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorder("websites")
		r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
		synctest.Wait()
		require.NoError(t, w.client.EventsV1().Events("default").DeleteCollection(w.Context(),
			metav1.DeleteOptions{}, metav1.ListOptions{}))
		r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
		require.Equal(t, []string{"Warning Failed Create a no room x2"}, w.written("default"))
	})
}

func TestEventsFromBeforeRunAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		w := prepare(t, server, Options{})
		w.GetEventRecorder("websites").Eventf(pod("a"), nil, "Normal", "Early", "Start", "before")
		w.GetEventRecorder("websites").Eventf(pod("a"), nil, "Normal", "Early", "Start", "before")
		w.begins()
		require.Equal(t, []string{"Normal Early Start a before x2"}, w.written("default"))
		require.NoError(t, w.ends())
		require.ErrorContains(t, w.Writer.Run(t.Context()), "has been started before")
	})
}

func TestManyReconcilersRecordAtTheSameTime(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for range 50 {
					w.GetEventRecorder("websites").Eventf(pod(fmt.Sprint(n%2)), nil, "Normal",
						"Scaled", "Scale", "mine")
				}
			})
		}
		all.Wait()
		time.Sleep(refreshEvery)
		require.Equal(t, []string{"Normal Scaled Scale 0 mine x200",
			"Normal Scaled Scale 1 mine x200"}, w.written("default"))
	})
}

func TestAWriterWithoutAnHTTPClientIsRefused(t *testing.T) {
	_, err := New(&rest.Config{}, nil, scheme.Scheme, Options{})
	require.ErrorContains(t, err, "rest.HTTPClientFor makes one")
	_, err = New(&rest.Config{Host: "://"}, &http.Client{}, scheme.Scheme, Options{})
	require.ErrorContains(t, err, "make an event writer")
}

// A developer's terminal shows events where they happen, without kubectl.
func TestTheDetailedLogHasEachEvent(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) {
		lines = append(lines, args)
	}, funcr.Options{Verbosity: 1})
	w, err := New(&rest.Config{Host: "http://nowhere"}, &http.Client{}, scheme.Scheme,
		Options{Logger: log})
	require.NoError(t, err)
	r := w.GetEventRecorder("websites")
	r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "no room")
	r.Eventf(pod("a"), nil, "Bad", "Failed", "Create", "no room")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `"msg"="no room" "type"="Warning"`)
	require.Contains(t, lines[1], "An event cannot be recorded")
}
