package mini_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// proxy404 makes something between a controller and the API server answer the next request like this with a 404, and pass
// it on to nobody.
func (w *world) proxy404(match fakeapi.Match) {
	w.Server.Inject(fakeapi.Fault{Match: match, Times: 1, Status: &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: "default backend - 404",
	}})
}

// A controller that takes a proxy's 404 for its own would think that the node has been deleted, and leave its Pods in their
// Services.
func TestASilentNodeIsMarkedAfterAProxys404(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "update", Resource: "nodes", Subresource: "status"}, {Verb: "patch", Resource: "nodes"},
		{Verb: "update", Resource: "pods", Subresource: "status"},
	} {
		inMemory(t, func(w *world) {
			w.watchingNodes()
			w.kubelet("healthy", 0)
			stop := w.kubelet("a", 0)
			w.runsOn("a", "web")
			w.ready(w.pods()[0])
			stop()
			time.Sleep(30 * time.Second)
			w.proxy404(match)
			require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"), "%s %s was answered 404 once", match.Verb, match.Resource)
			pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "web", metav1.GetOptions{})
			require.NoError(w, err)
			for _, c := range pod.Status.Conditions {
				require.False(w, c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue,
					"%s %s was answered 404 once, and the Pod still gets traffic", match.Verb, match.Resource)
			}
		})
	}
}

// A list of leases that a proxy answers with 404 isn't an empty one: no node would have a lease, and be silent.
func TestNodesAreHealthyWhileAProxyAnswersForTheirLeases(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("a", 0)
		w.kubelet("b", 0)
		require.Equal(w, "True", w.nodeAfter(time.Minute, "a"))
		w.Server.ForgetRequests()
		cut := w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "leases"}, CutAfter: time.Second})
		lift := w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: "leases"}, Status: &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: "default backend - 404",
		}})
		time.Sleep(30 * time.Second)
		cut()
		lift()
		require.Equal(w, "True", w.nodeAfter(time.Minute, "a"))
		require.Equal(w, "True", w.nodeAfter(0, "b"))
		require.Zero(w, w.requestsTo("patch", "nodes"), "no node was tainted")
	})
}

// The Pod would stay on a node that destroys its data: no other event comes.
func TestAPodIsEvictedAfterAProxys404(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "patch", Resource: "nodes"}, {Verb: "update", Resource: "pods", Subresource: "status"}, toPods("delete"),
	} {
		inMemory(t, func(w *world) {
			w.taintedNode("a")
			w.runsOn("a", "delicate")
			w.evicting()
			w.proxy404(match)
			w.taint("a", broken)
			require.Equal(w, []string{"delicate"}, w.evictedAfter(time.Minute), "%s %s was answered 404 once", match.Verb, match.Resource)
		})
	}
}

// A Job would hang with one of its Pods uncounted.
func TestAJobEndsAfterAProxys404(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "update", Resource: "jobs", Subresource: "status"}, {Verb: "patch", Resource: "pods"}, toPods("create"),
	} {
		inJobs(t, func(w *jobWorld) {
			w.proxy404(match)
			w.runJobs()
			w.create(job(1, 1))
			time.Sleep(time.Minute)
			require.Len(w, w.active(), 1, "%s %s was answered 404 once", match.Verb, match.Resource)
			w.ends(w.active()[0], corev1.PodSucceeded)
			time.Sleep(time.Minute)
			require.Equal(w, completed, w.conditions(), "%s %s was answered 404 once", match.Verb, match.Resource)
			require.Equal(w, []string{"[]"}, w.all())
		})
	}
}

// Without its finalizer, the Pod could go before its Job has counted it.
func TestAProxys404DoesNotMakeAPodAnOrphan(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.slowWatch("jobs", 10*time.Second)
		w.runJobs()
		synctest.Wait()
		owner := w.create(job(1, 1))
		w.proxy404(fakeapi.Match{Verb: "get", Resource: "jobs"})
		w.tracked("early", *metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job")))
		time.Sleep(5 * time.Second)
		require.Equal(w, []string{"[batch.kubernetes.io/job-tracking]"}, w.all())
	})
}

// concurrencyPolicy: Replace promises that there's one Job at a time.
func TestAJobIsNotReplacedBecauseOfAProxys404(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("* * * * *", policy(batchv1.ReplaceConcurrent)))
		time.Sleep(time.Minute + time.Second)
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "delete", Resource: "jobs"}, Status: &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: "default backend - 404",
		}})
		time.Sleep(30 * time.Minute)
		jobs, err := w.Other.BatchV1().Jobs("default").List(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		require.Equal(w, 1, len(jobs.Items), "the old Job is still there, and a new one runs beside it")
	})
}
