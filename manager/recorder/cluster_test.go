package recorder

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The rules about events are the real server's: what it refuses, nobody reads.
func TestTheRealServerTakesEverythingThatIsWritten(t *testing.T) {
	config, client, namespace := clustertest.Config(t), clustertest.Client(t), clustertest.Namespace(t)
	httpClient, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	w, err := New(config, httpClient, scheme.Scheme, Options{DrainTimeout: time.Minute})
	require.NoError(t, err)
	lost := lostFor(t, lostRefused)

	about := pod("web")
	about.Namespace, about.ResourceVersion = namespace, "7"
	current, older := w.GetEventRecorder("shop.example.com/websites"), w.GetEventRecorderFor("websites")
	for range 3 {
		current.Eventf(about, nil, "Warning", "Failed", "", "%s", strings.Repeat("ä", noteLimit))
	}
	current.AnnotatedEventf(about, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		map[string]string{"run": "7"}, "Normal", "Bound", "Bind", "")
	older.Eventf(about, "Normal", "Created", "pod %d", 1)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: namespace}} // nobody else's name
	current.Eventf(node, nil, "Normal", "Ready", "Watch", "cluster-scoped")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	counts := func() map[string]int32 {
		found := map[string]int32{}
		for _, in := range []string{namespace, "default"} {
			list, err := client.EventsV1().Events(in).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, e := range list.Items {
				if e.Regarding.Name != about.Name && e.Regarding.Name != node.Name ||
					e.ReportingController != "websites" &&
						e.ReportingController != "shop.example.com/websites" {
					continue
				}
				found[e.Reason] = max(1, e.DeprecatedCount) // of the core group's
				if e.Series != nil {
					found[e.Reason] = e.Series.Count
				}
			}
		}
		return found
	}
	want := map[string]int32{"Failed": 3, "Bound": 1, "Created": 1, "Ready": 1}
	require.Eventually(t, func() bool {
		return len(counts()) == len(want)
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, want, counts())

	older.Eventf(about, "Normal", "Created", "pod %d", 1)
	current.Eventf(node, nil, "Normal", "Ready", "Watch", "cluster-scoped")
	current.Eventf(about, nil, "Warning", "Failed", "", "%s", strings.Repeat("ä", noteLimit))
	stop() // what is left is written
	require.NoError(t, <-ended)
	require.Equal(t, map[string]int32{"Failed": 4, "Bound": 1, "Created": 2, "Ready": 2}, counts())
	require.Equal(t, lost, lostFor(t, lostRefused))
}
