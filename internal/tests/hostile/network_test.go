package hostile_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager/client"
)

// inNetwork runs a test in a bubble, with an in-memory server behind a network.
func inNetwork(
	t *testing.T, test func(t *testing.T, server *fakeapi.Server, network *hostile.Network),
) {
	synctest.Test(t, func(t *testing.T) {
		var network *hostile.Network
		server := fakeapi.New(fakeapi.Options{
			NoManagedFields: true,
			Front: func(server http.Handler) http.Handler {
				return network
			},
		})
		network = hostile.New(server)
		defer server.Close()
		defer network.Close()
		test(t, server, network)
	})
}

// passes are the faults that client-go takes for an answer. {} is an object without a name to it.
// And net/http sends a read again whose connection broke while it was silent.
var passes = map[string]bool{"stale": true, "braces": true, "silent": true}

// A fault that an ordinary client couldn't tell from the API server's word would make every test
// with it worthless.
func TestNoFaultPassesForTheAPIServersAbsenceAndNoneOutlastsItsTime(t *testing.T) {
	for _, fault := range hostile.Faults {
		t.Run(fault.Name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, server *fakeapi.Server, network *hostile.Network) {
				maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
				made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
				_, err := maps.Create(t.Context(), made, metav1.CreateOptions{})
				require.NoError(t, err)
				get := func() error {
					_, err := maps.Get(t.Context(), "a", metav1.GetOptions{})
					return err
				}
				require.NoError(t, get())
				hits := network.Begin(hostile.Attack{
					Fault: fault, On: hostile.Get, For: 20 * time.Second,
				})
				err = get()
				key := client.ObjectKey{Namespace: "default", Name: "a"}
				require.False(t, client.IsAbsent(err, key), "%v", err)
				require.Positive(t, hits(), "the fault hit nothing")
				require.Equal(t, passes[fault.Name], err == nil, "%v", err)
				time.Sleep(20 * time.Second)
				require.NoError(t, get(), "the fault is over")
			})
		})
	}
}

func TestAnAttackHitsOneRequestOrAllOfItsTimeAndNoOthers(t *testing.T) {
	inNetwork(t, func(t *testing.T, _ *fakeapi.Server, network *hostile.Network) {
		ask := func(method, path string) int {
			w := httptest.NewRecorder()
			network.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			return w.Code
		}
		const pods = "/api/v1/namespaces/default/pods"
		network.Begin(hostile.Attack{Fault: hostile.Find("html502"), On: hostile.List})
		require.Equal(t, 200, ask("GET", "/api/v1"))
		require.Equal(t, 404, ask("GET", pods+"/a"))
		require.Equal(t, 502, ask("GET", pods))
		require.Equal(t, 200, ask("GET", pods), "the second list")
		network.Begin(hostile.Attack{
			Fault: hostile.Find("html502"), On: hostile.Discovery, For: time.Minute,
		})
		require.Equal(t, 502, ask("GET", "/apis"))
		require.Equal(t, 502, ask("GET", "/apis/apps/v1"))
		time.Sleep(time.Minute)
		require.Equal(t, 200, ask("GET", "/apis/apps/v1"))
	})
}

func TestTheServerCarriesOutWhatIsAnsweredAfterwardsOnly(t *testing.T) {
	inNetwork(t, func(t *testing.T, server *fakeapi.Server, network *hostile.Network) {
		maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
		for name, carried := range map[string]bool{"before": false, "after": true} {
			network.Begin(hostile.Attack{
				Fault: hostile.Find("html504"), On: hostile.Create, Carried: carried,
			})
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := maps.Create(t.Context(), made, metav1.CreateOptions{})
			require.ErrorContains(t, err, "in the time allotted")
			_, err = maps.Get(t.Context(), name, metav1.GetOptions{})
			require.Equal(t, carried, err == nil)
		}
	})
}

func TestAStaleReplicaShowsWhatItHasSeenAndAWatchOfItIsLate(t *testing.T) {
	inNetwork(t, func(t *testing.T, server *fakeapi.Server, network *hostile.Network) {
		maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
		count := func() int {
			all, err := maps.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			return len(all.Items)
		}
		require.Zero(t, count())
		watching, err := maps.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		defer watching.Stop()
		for _, on := range []hostile.Op{hostile.List, hostile.Watch} {
			network.Begin(hostile.Attack{Fault: hostile.Find("stale"), On: on, For: time.Minute})
		}
		began := time.Now()
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		_, err = maps.Create(t.Context(), made, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Zero(t, count(), "the replica lags behind")
		<-watching.ResultChan()
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, 1, count())
	})
}

func TestASilentWatchNeitherSpeaksNorEnds(t *testing.T) {
	inNetwork(t, func(t *testing.T, server *fakeapi.Server, network *hostile.Network) {
		config := server.Config()
		maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
		watching, err := maps.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: new(int64(60))})
		require.NoError(t, err)
		defer watching.Stop()
		network.Begin(hostile.Attack{
			Fault: hostile.Find("silent"), On: hostile.Watch, For: 10 * time.Second,
		})
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		_, err = maps.Create(t.Context(), made, metav1.CreateOptions{})
		require.NoError(t, err)
		select {
		case event := <-watching.ResultChan():
			t.Fatalf("a silent watch said something: %v", event)
		case <-time.After(time.Hour):
		}
	})
}

// A watch that a fault hits is cut in the middle of an event, and a client gets no half of it.
func TestAWatchIsCutInTheMiddleOfAnEvent(t *testing.T) {
	inNetwork(t, func(t *testing.T, server *fakeapi.Server, network *hostile.Network) {
		maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		_, err := maps.Create(t.Context(), made, metav1.CreateOptions{})
		require.NoError(t, err)
		for _, name := range []string{"cuthalf", "cutchunked"} {
			network.Begin(hostile.Attack{Fault: hostile.Find(name), On: hostile.Watch})
			client := http.Client{Transport: server.Config().Transport}
			answer, err := client.Get("http://fakeapi/api/v1/namespaces/default/configmaps?watch=1")
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			require.Equal(t, name == "cutchunked", err != nil)
			require.Contains(t, string(body), `{"type":"ADDED"`)
			require.NotContains(t, string(body), "\n")
		}
	})
}
