package manager

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/leaderelection"
)

// wrapped is a cache as a user may have it: ours, with something around it that hides all but the
// interface.
type wrapped struct{ cache.Cache }

// The API server needs the conversion webhook to answer the list, and reaches it through a Service,
// which has no endpoints until the Pod is ready. A readiness probe that waits for the list locks
// the program out of its own start.
func TestAManagerWhoseInformerNeedsItsOwnConversionWebhookStarts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		server := &slowWebhooks{refusingServer: refusingServer{mux: http.NewServeMux()}, world: w}
		m := w.manager(Options{WebhookServer: server})
		require.NoError(t, m.AddReadyzCheck("webhook", m.GetWebhookServer().StartedChecker()))
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		remove := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"},
			Status: &metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
				Message: "conversion webhook for /v1, Kind=ConfigMap failed: no endpoints available",
			}})
		r := w.start(m)
		for range 60 { // the kubelet asks, and lets the Service have the Pod
			if ask(m, "/readyz").Code == http.StatusOK {
				remove()
			}
			time.Sleep(time.Second)
		}
		require.True(t, r.isElected(),
			"it waits for an answer that nobody can give before it is ready: %s",
			ask(m, "/readyz").Body)
		require.NoError(t, r.end())
	})
}

// A probe that fails by chance takes the Pod out of its Service.
func TestAWrappedCacheThatHasListedIsReadyEachTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{NewCache: func(c *rest.Config, o cache.Options) (cache.Cache,
			error) {
			made, err := cache.New(c, o)
			return wrapped{made}, err
		}})
		require.NoError(t, m.AddReadyzCheck("caches", CacheSyncCheck(m.GetCache())))
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		require.Equal(t, http.StatusInternalServerError, ask(m, "/readyz").Code, "it does not run")
		r := w.start(m)
		synctest.Wait()
		for range 100 {
			require.Equal(t, http.StatusOK, ask(m, "/readyz").Code)
		}
		require.NoError(t, r.end())
	})
}

func TestTheLivenessProbeKnowsTheElection(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		r := w.start(m)
		require.Equal(t, http.StatusOK, ask(m, "/healthz/leaderElection").Code)
		require.NoError(t, r.end())
	})
}

// The kubelet must restart a process that goes on working without the lease, and no other.
func TestTheLivenessProbeFailsWhenTheWorkGoesOnLongAfterTheLeaseHasRunOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		require.NoError(t, m.Add(&part{name: "stubborn", story: &story{}, slowToEnd: time.Hour}))
		r := w.start(m)
		lead(t, r)
		remove := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"},
			Refuse: true})
		require.ErrorIs(t, <-r.ended, leaderelection.ErrStillWorking)
		remove()
		lease, err := w.live.CoordinationV1().Leases("default").Get(t.Context(), "shop",
			metav1.GetOptions{})
		require.NoError(t, err)
		runsOut := lease.Spec.RenewTime.Add(15 * time.Second)
		time.Sleep(time.Until(runsOut.Add(20 * time.Second)))
		require.Equal(t, http.StatusOK, ask(m, "/healthz/leaderElection").Code)
		time.Sleep(time.Second)
		require.Equal(t, http.StatusInternalServerError, ask(m, "/healthz/leaderElection").Code)
		time.Sleep(time.Hour) // or the bubble has a goroutine left
	})
}

// A replica that cannot reach the API server works on what was true some time ago. A restart of the
// server is no reason to take all replicas out of service.
func TestAReplicaIsNotReadyWhenItsCachesHaveHadNoAnswerForAMinute(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		require.NoError(t, m.AddReadyzCheck("caches", CacheSyncCheck(m.GetCache())))
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: "watch"},
			CutAfter: 4 * time.Minute})
		r := w.start(m)
		remove := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"},
			Refuse: true})
		time.Sleep(4*time.Minute - time.Second)
		require.Equal(t, http.StatusOK, ask(m, "/readyz").Code,
			"a watch may be quiet for as long as it likes")
		time.Sleep(time.Minute)
		require.Equal(t, http.StatusOK, ask(m, "/readyz").Code)
		time.Sleep(2 * time.Second)
		require.Equal(t, http.StatusInternalServerError, ask(m, "/readyz").Code)
		require.Contains(t, ask(m, "/readyz/caches").Body.String(),
			"out of touch with the API server for 1m")
		remove()
		time.Sleep(time.Minute)
		require.Equal(t, http.StatusOK, ask(m, "/readyz").Code)
		require.NoError(t, r.end())
	})
}
