package mini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// tenants is a world with the namespace controller, the namespaces "red" and "blue", and a kind
// that only the API server knows.
type tenants struct {
	*world
	// answer may change what the controller's process gets.
	answer atomic.Pointer[func(*http.Request, *http.Response)]
}

func (w *tenants) answers(change func(*http.Request, *http.Response)) { w.answer.Store(&change) }

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func withTenants(t *testing.T, test func(w *tenants)) {
	t.Helper()
	inMemory(t, func(w *world) {
		n := &tenants{world: w}
		n.answers(func(*http.Request, *http.Response) {})
		w.Server.Register(fakeapi.Kind{
			Group: "example.com", Version: "v1", Kind: "Fungus", Resource: "fungi",
		})
		config := w.Server.Config()
		config.QPS = 0 // as in a program that sets nothing: client-go's limit
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return transport(func(r *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				if err == nil {
					(*n.answer.Load())(r, response)
				}
				return response, err
			})
		})
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		require.NoError(w, err)
		cluster.Trace = trace.New(0)
		w.Cluster = cluster
		m := mini.NewManager(cluster)
		c, err := mini.NewNamespaceController(m)
		require.NoError(w, err)
		m.AddController(c)
		w.run(m.Run)
		for _, name := range []string{"red", "blue"} {
			_, err := w.Other.CoreV1().Namespaces().Create(w.ctx,
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		test(n)
	})
}

// fungus creates an object whose kind has no Go type.
func (w *tenants) fungus(namespace, name string) {
	w.Helper()
	body := `{"apiVersion":"example.com/v1","kind":"Fungus","metadata":{"name":"` + name + `"}}`
	require.NoError(w, w.Other.CoreV1().RESTClient().Post().
		AbsPath("/apis/example.com/v1/namespaces", namespace, "fungi").
		Body([]byte(body)).Do(w.ctx).Error())
}

func (w *tenants) fungi(namespace string) int {
	w.Helper()
	body, err := w.Other.CoreV1().RESTClient().Get().
		AbsPath("/apis/example.com/v1/namespaces", namespace, "fungi").Do(w.ctx).Raw()
	require.NoError(w, err)
	return bytes.Count(body, []byte(`"uid"`))
}

func (w *tenants) secret(namespace, name string, finalizers ...string) {
	w.Helper()
	_, err := w.Other.CoreV1().Secrets(namespace).Create(w.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
}

func (w *tenants) secrets(namespace string) int {
	w.Helper()
	all, err := w.Other.CoreV1().Secrets(namespace).List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	return len(all.Items)
}

func (w *tenants) releaseSecret(namespace, name string) {
	w.Helper()
	_, err := w.Other.CoreV1().Secrets(namespace).Update(w.ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// runs creates a Pod that is on a node, and has a minute to end.
func (w *tenants) runs(namespace, name string) {
	w.Helper()
	_, err := w.Other.CoreV1().Pods(namespace).Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: "node", TerminationGracePeriodSeconds: new(int64(60)),
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
}

// kubeletEnds ends a Pod, as its node does when the containers are gone.
func (w *tenants) kubeletEnds(namespace, name string) {
	w.Helper()
	require.NoError(w, w.Other.CoreV1().Pods(namespace).Delete(w.ctx, name,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

func (w *tenants) deleteNamespace(name string) {
	w.Helper()
	require.NoError(w, w.Other.CoreV1().Namespaces().Delete(w.ctx, name, metav1.DeleteOptions{}))
}

// after lets some time pass, and returns the namespace: nil if it is gone.
func (w *tenants) after(d time.Duration, name string) *corev1.Namespace {
	w.Helper()
	time.Sleep(d)
	synctest.Wait()
	ns, err := w.Other.CoreV1().Namespaces().Get(w.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w, err)
	return ns
}

// bad returns the messages of the conditions that are true.
func bad(ns *corev1.Namespace) (messages []string) {
	for _, c := range ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			messages = append(messages, string(c.Type)+": "+c.Message)
		}
	}
	return messages
}

// atOnce returns how many reconciles of a controller ran at the same time, at most.
func (w *world) atOnce(controller string) (most int) {
	running := 0
	for _, e := range w.Cluster.Trace.Events() {
		switch {
		case e.Layer != controller:
		case e.Kind == trace.ReconcileStart:
			running++
		case e.Kind == trace.ReconcileEnd:
			running--
		}
		most = max(most, running)
	}
	return most
}

// once reconciles one object by hand. A read that waits for a cache ends after a minute.
func (w *world) once(c *mini.Controller, key mini.Request) error {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	_, err := c.Reconciler.Reconcile(ctx, key)
	return err
}

// Whatever a deleted namespace leaves behind, the next user of its name will find.
func TestANamespaceIsDeletedWithEverythingInIt(t *testing.T) {
	withTenants(t, func(w *tenants) {
		for _, namespace := range []string{"red", "blue"} {
			w.secret(namespace, "a")
			w.secret(namespace, "b")
			w.fungus(namespace, "amanita")
		}
		require.NotNil(w, w.after(time.Hour, "red"), "nobody has deleted it")
		w.deleteNamespace("red")
		require.Nil(w, w.after(time.Minute, "red"))
		require.Zero(w, w.secrets("red"))
		require.Zero(w, w.fungi("red"), "a kind without a Go type")
		require.NotNil(w, w.after(0, "blue"))
		require.Equal(w, 2, w.secrets("blue"), "of another namespace")
		require.Equal(w, 1, w.fungi("blue"))
	})
}

// Its Secrets and NetworkPolicies serve and protect a Pod until it has ended.
func TestPodsEndBeforeEverythingElse(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.secret("red", "a")
		w.runs("red", "web")
		w.deleteNamespace("red")
		ns := w.after(30*time.Second, "red")
		require.Equal(w, []string{"NamespaceContentRemaining: still there: 1 of pods"}, bad(ns))
		require.Equal(w, 1, w.secrets("red"), "the Pod still uses it")
		require.Equal(w, 1, w.requestsTo("deletecollection", "pods"), "it's ending, and each pass would delete it again")
		w.kubeletEnds("red", "web")
		require.Nil(w, w.after(10*time.Second, "red"))
		require.Zero(w, w.secrets("red"))
	})
}

// A user who waits for a namespace reads its conditions to see why.
func TestANamespaceSaysWhatItWaitsFor(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.secret("red", "a", "example.com/vault", "example.com/audit")
		w.secret("red", "b", "example.com/vault")
		w.secret("red", "c")
		w.deleteNamespace("red")
		ns := w.after(10*time.Second, "red")
		require.Equal(w, []string{
			"NamespaceContentRemaining: still there: 2 of secrets",
			"NamespaceFinalizersRemaining: objects wait for finalizers: 1 of example.com/audit, 2 of example.com/vault",
		}, bad(ns))
		since := ns.Status.Conditions[0].LastTransitionTime

		w.Server.ForgetRequests()
		later := w.after(10*time.Minute, "red")
		require.Equal(w, ns, later)
		require.Zero(w, w.requestsTo("update", "namespaces"), "each pass that finds the same would be a write")
		passes := len(w.Server.Requests(fakeapi.Match{Verb: "list", Resource: "secrets", Namespace: "red"}))
		require.Less(w, passes, 90, "it keeps reading what nobody changes")

		w.releaseSecret("red", "a")
		ns = w.after(10*time.Second, "red")
		require.Equal(w, []string{
			"NamespaceContentRemaining: still there: 1 of secrets",
			"NamespaceFinalizersRemaining: objects wait for finalizers: 1 of example.com/vault",
		}, bad(ns))
		for _, c := range ns.Status.Conditions {
			require.Equal(w, since, c.LastTransitionTime, "of %s: it was like this all the time", c.Type)
		}
		w.releaseSecret("red", "b")
		require.Nil(w, w.after(10*time.Second, "red"))
	})
}

// With two API servers, one of them may admit an object after the other one has answered
// the deletion. A pass before that would miss it.
func TestTheFirstPassWaitsForAllAPIServers(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.deleteNamespace("red")
		time.Sleep(4 * time.Second)
		match := fakeapi.Match{Verb: "list", Resource: "secrets", Namespace: "red"}
		require.Empty(w, w.Server.Requests(match))
		require.Nil(w, w.after(2*time.Second, "red"))
		require.NotEmpty(w, w.Server.Requests(match))
	})
}

// Some kinds would be orphaned by default: their objects would wait for the garbage
// collector, and the namespace for them.
func TestNothingInANamespaceIsOrphaned(t *testing.T) {
	withTenants(t, func(w *tenants) {
		_, err := w.Other.BatchV1().Jobs("red").Create(w.ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "once"},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			}}},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.deleteNamespace("red")
		require.Nil(w, w.after(time.Minute, "red"))
	})
}

// A Pod that has a minute to end may need less.
func TestANamespaceDoesNotWaitLongForAPodThatEndsEarly(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.runs("red", "web")
		w.deleteNamespace("red")
		time.Sleep(22 * time.Second)
		w.kubeletEnds("red", "web")
		require.Nil(w, w.after(10*time.Second, "red"))
	})
}

// An object that can't be deleted would outlive the namespace. The others don't have to
// wait for it.
func TestAFailureKeepsTheNamespaceAndStopsNothingElse(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.secret("red", "a")
		w.fungus("red", "amanita")
		remove := w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{Verb: "deletecollection", Resource: "fungi"},
			Status: fakeapi.Forbidden(),
		})
		w.deleteNamespace("red")
		ns := w.after(time.Minute, "red")
		require.Len(w, bad(ns), 2)
		require.Contains(w, bad(ns)[0], "NamespaceDeletionContentFailure: not everything could be deleted: fungi.example.com: ")
		require.Equal(w, "NamespaceContentRemaining: still there: 1 of fungi.example.com", bad(ns)[1])
		require.Zero(w, w.secrets("red"))
		require.Equal(w, 1, w.fungi("red"))
		remove()
		require.Nil(w, w.after(30*time.Minute, "red"), "it tries again")
	})
}

// If the order of the failures mattered, each pass would be a write. And a user wants to
// know since when there have been failures.
func TestAConditionChangesOnlyWithTheNews(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.secret("red", "a", "example.com/vault")
		w.fungus("red", "amanita")
		_, err := w.Other.CoreV1().ConfigMaps("red").Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		remove := w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "deletecollection"}, Status: fakeapi.Forbidden()})
		w.deleteNamespace("red")
		before := w.after(time.Minute, "red")
		w.Server.ForgetRequests()
		require.Equal(w, before, w.after(time.Hour, "red"))
		require.Less(w, w.requestsTo("deletecollection", "fungi"), 100, "it backs off")
		remove()
		after := w.after(30*time.Minute, "red")
		require.Len(w, bad(after), 2, "it waits for the Secret, and nothing fails")
		for i, c := range after.Status.Conditions {
			stayed := before.Status.Conditions[i].Status == c.Status
			require.Equal(w, stayed, before.Status.Conditions[i].LastTransitionTime == c.LastTransitionTime, c.Type)
		}
	})
}

// A namespace that seems to be empty gets no other event.
func TestANamespaceIsTriedAgainWhicheverRequestFails(t *testing.T) {
	for _, subresource := range []string{"status", "finalize"} {
		withTenants(t, func(w *tenants) {
			w.runs("red", "web")
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "update", Resource: "namespaces", Subresource: subresource}, Times: 1, Status: fakeapi.Unavailable(),
			})
			w.deleteNamespace("red")
			require.NotEmpty(w, bad(w.after(7*time.Second, "red")), "it says what it waits for")
			w.kubeletEnds("red", "web")
			require.Nil(w, w.after(10*time.Second, "red"), "%s has failed", subresource)
		})
	}
}

// The text of an error may have a port in it, and so differ each time. Each write of it would bring
// the next pass at once, and the requests of all passes would never end.
func TestAFailureWithAnotherTextEachTimeBacksOff(t *testing.T) {
	withTenants(t, func(w *tenants) {
		passes := 0 // one worker at a time has the namespace
		w.answers(func(r *http.Request, response *http.Response) {
			if strings.HasSuffix(r.URL.Path, "/fungi") {
				passes++
				text := fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure",
					"code": 500, "reason": "InternalError", "message": "broken pipe: port %d"}`, min(passes, 500))
				response.StatusCode = http.StatusInternalServerError
				response.Header.Set("Content-Type", "application/json")
				response.Body = io.NopCloser(strings.NewReader(text))
				response.ContentLength = int64(len(text))
			}
		})
		w.deleteNamespace("red")
		ns := w.after(time.Minute, "red")
		require.Contains(w, bad(ns)[0], "broken pipe: port")
		require.Less(w, passes, 30)
		w.answers(func(*http.Request, *http.Response) {})
		require.Nil(w, w.after(30*time.Minute, "red"))
	})
}

// A proxy between us and the server of an extension answers with a page for people:
// that's not an empty list.
func TestAnAnswerThatIsNotAListKeepsTheNamespace(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.fungus("red", "amanita")
		w.answers(func(r *http.Request, response *http.Response) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/fungi") {
				response.Body, response.ContentLength = io.NopCloser(strings.NewReader("<html>")), 6
			}
		})
		w.deleteNamespace("red")
		require.NotNil(w, w.after(time.Minute, "red"))
		w.answers(func(*http.Request, *http.Response) {})
		require.Nil(w, w.after(30*time.Minute, "red"))
		require.Zero(w, w.fungi("red"))
	})
}

// Access reviews are not stored, and the usage of Pods cannot be deleted: the namespace would wait forever.
func TestAKindThatCannotBeListedOrDeletedDoesNotKeepTheNamespace(t *testing.T) {
	for _, verb := range []string{"list", "delete"} {
		withTenants(t, func(w *tenants) {
			w.answers(func(r *http.Request, response *http.Response) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/fungi"):
					response.StatusCode = http.StatusMethodNotAllowed
				case r.URL.Path == "/apis/example.com/v1":
					body, _ := io.ReadAll(response.Body)
					text := strings.ReplaceAll(string(body), `"`+verb+`",`, "")
					response.Body, response.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
				}
			})
			w.deleteNamespace("red")
			require.Nil(w, w.after(time.Minute, "red"), "its objects have no verb %s", verb)
		})
	}
}

// An API server that's only for custom resources has no Pods, so there's nothing to wait
// for.
func TestANamespaceIsDeletedEvenIfTheServerHasNoPods(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.Server.Unregister(corev1.SchemeGroupVersion.WithResource("pods"))
		w.fungus("red", "amanita")
		w.deleteNamespace("red")
		require.Nil(w, w.after(time.Minute, "red"))
		require.Zero(w, w.fungi("red"))
	})
}

// If the Pods can't be listed, some may still run.
func TestNothingElseIsDeletedWhileThePodsAreUnknown(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.secret("red", "a")
		remove := w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{Verb: "list", Resource: "pods", Namespace: "red"},
			Status: fakeapi.InternalError(),
		})
		w.deleteNamespace("red")
		require.NotNil(w, w.after(time.Minute, "red"))
		require.Equal(w, 1, w.secrets("red"))
		remove()
		require.Nil(w, w.after(30*time.Minute, "red"))
	})
}

// hideGroup makes the API server answer discovery of one group version with an error, as
// when the server of an extension is down.
func (w *tenants) hideGroup(path string) (show func()) {
	w.answers(func(r *http.Request, response *http.Response) {
		if r.URL.Path == path {
			response.StatusCode = http.StatusServiceUnavailable
		}
	})
	return func() { w.answers(func(*http.Request, *http.Response) {}) }
}

// The objects of an extension are in etcd even while its server is down.
func TestAGroupThatDoesNotAnswerKeepsTheNamespace(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.secret("red", "a")
		w.fungus("red", "amanita")
		show := w.hideGroup("/apis/example.com/v1")
		w.deleteNamespace("red")
		ns := w.after(time.Minute, "red")
		require.Len(w, bad(ns), 1)
		require.Contains(w, bad(ns)[0], "NamespaceDeletionDiscoveryFailure: not every resource is known: ")
		require.Zero(w, w.secrets("red"), "what is known can go")
		show()
		require.Nil(w, w.after(30*time.Minute, "red"))
		require.Zero(w, w.fungi("red"))
	})
}

func TestNothingElseIsDeletedWhileTheGroupOfPodsDoesNotAnswer(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.fungus("red", "amanita")
		show := w.hideGroup("/api/v1")
		w.deleteNamespace("red")
		require.NotNil(w, w.after(time.Minute, "red"))
		require.Equal(w, 1, w.fungi("red"))
		show()
		require.Nil(w, w.after(30*time.Minute, "red"))
	})
}

// The server of an extension may not be able to delete all objects in one request.
func TestObjectsAreDeletedOneByOneIfTheyCannotBeDeletedTogether(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.fungus("red", "amanita")
		w.fungus("red", "boletus")
		w.answers(func(r *http.Request, response *http.Response) {
			if r.URL.Path == "/apis/example.com/v1" {
				body, _ := io.ReadAll(response.Body)
				text := strings.ReplaceAll(string(body), `"deletecollection",`, "")
				response.Body = io.NopCloser(strings.NewReader(text))
				response.ContentLength = int64(len(text))
			}
		})
		w.deleteNamespace("red")
		require.Nil(w, w.after(time.Minute, "red"))
		require.Zero(w, w.fungi("red"))
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "deletecollection", Resource: "fungi"}))
		require.Equal(w, []trace.Event{{Name: "amanita", Count: 1}, {Name: "boletus", Count: 1}}, w.deletions("Fungus"))
	})
}

// A namespace may have finalizers and conditions of other controllers.
func TestWhatOtherControllersWriteIntoANamespaceStays(t *testing.T) {
	withTenants(t, func(w *tenants) {
		ns := w.after(0, "red")
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, "example.com/quota")
		ns, err := w.Other.CoreV1().Namespaces().Finalize(w.ctx, ns, metav1.UpdateOptions{})
		require.NoError(w, err)
		ns.Status.Conditions = []corev1.NamespaceCondition{
			{Type: "example.com/Nested", Status: corev1.ConditionTrue, Message: "it is"},
		}
		_, err = w.Other.CoreV1().Namespaces().UpdateStatus(w.ctx, ns, metav1.UpdateOptions{})
		require.NoError(w, err)
		w.secret("red", "a")
		w.deleteNamespace("red")
		ns = w.after(time.Minute, "red")
		require.Equal(w, []corev1.FinalizerName{"example.com/quota"}, ns.Spec.Finalizers)
		require.Equal(w, []string{"example.com/Nested: it is"}, bad(ns))
		require.Zero(w, w.secrets("red"))
		w.Server.ForgetRequests()
		require.Equal(w, ns, w.after(time.Hour, "red"), "it is done")
		require.Zero(w, w.requestsTo("list", "secrets"), "there are no more passes")
	})
}

// deletions returns what the flight recorder shows of the deletions of a kind in "red".
func (w *tenants) deletions(kind string) (all []trace.Event) {
	for _, e := range w.Cluster.Trace.Events() {
		if e.Kind == trace.Write && e.Op == "delete" && e.Object == kind && e.Namespace == "red" {
			all = append(all, trace.Event{Name: e.Name, Count: e.Count, Took: e.Took, Outcome: e.Outcome})
		}
	}
	return all
}

// X-ray shows why a Secret was deleted.
func TestTheFlightRecorderShowsWhatANamespaceTakesAlong(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.secret("red", "a")
		w.secret("red", "b")
		match := fakeapi.Match{Verb: "deletecollection", Resource: "secrets"}
		w.Server.Inject(fakeapi.Fault{Match: match, Delay: time.Second})
		w.Server.Inject(fakeapi.Fault{Match: match, Times: 1, Status: fakeapi.Forbidden()})
		w.deleteNamespace("red")
		require.Nil(w, w.after(time.Minute, "red"))
		require.Equal(w, []trace.Event{{Count: 2, Took: time.Second, Outcome: trace.Failed}, {Count: 2, Took: time.Second}}, w.deletions("Secret"))
		writes := slices.DeleteFunc(w.Cluster.Trace.Events(), func(e trace.Event) bool { return e.Kind != trace.Write })
		require.Equal(w, "finalize Namespace", writes[len(writes)-1].Op+" "+writes[len(writes)-1].Object)
	})
}

// An error that isn't returned isn't retried, and a namespace that isn't being deleted
// must not be emptied.
func TestOnlyANamespaceThatIsBeingDeletedIsEmptied(t *testing.T) {
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		c, err := mini.NewNamespaceController(m)
		require.NoError(w, err)
		require.Error(w, w.once(c, mini.Request{Name: "default"}), "the cache has no list")
		w.run(m.Cache.Run)
		require.NoError(w, w.once(c, mini.Request{Name: "default"}))
		require.NoError(w, w.once(c, mini.Request{Name: "gone"}))
		_, err = mini.NewNamespaceController(w.withKinds(&corev1.Pod{}))
		require.Error(w, err, "without its watch, the controller would do nothing, and no error said so")
	})
}

// A hundred tests delete their namespaces at the same time. With a limit of requests,
// that would take minutes.
func TestManyNamespacesAreDeletedWithinSeconds(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: "secrets"}, Delay: 10 * time.Millisecond})
		for i := range 20 {
			name := strconv.Itoa(i)
			_, err := w.Other.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(w, err)
			w.deleteNamespace(name)
		}
		time.Sleep(7 * time.Second)
		for i := range 20 {
			require.Nil(w, w.after(0, strconv.Itoa(i)))
		}
		require.Equal(w, 5, w.atOnce("namespace"), "one with many objects mustn't keep the others waiting")
	})
}

// pagesAt answers a page to each GET of one path, until stop.
func (w *tenants) pagesAt(path string, answer func(*http.Response)) (stop func()) {
	w.answers(func(r *http.Request, response *http.Response) {
		if r.Method == http.MethodGet && r.URL.Path == path {
			answer(response)
		}
	})
	return func() { w.answers(func(*http.Request, *http.Response) {}) }
}

// The namespace would be deleted, and its Secret would stay in etcd, without a namespace.
func TestAWebPageIsNeitherAnEmptyListNorAnEmptyDiscovery(t *testing.T) {
	pages := maps.Clone(notFoundPages)
	pages["a login page"] = func(r *http.Response) { page(r, http.StatusOK, "text/html", "<html>log in</html>") }
	pages["an empty JSON"] = func(r *http.Response) { page(r, http.StatusOK, "application/json", "{}") }
	for _, path := range []string{
		"/api", "/apis", "/api/v1", "/apis/example.com/v1", "/api/v1/namespaces/red/secrets",
		"/apis/example.com/v1/namespaces/red/fungi",
	} {
		for what, answer := range inorder.Map(pages) {
			t.Run(path+" "+what, func(t *testing.T) {
				withTenants(t, func(w *tenants) {
					w.secret("red", "a")
					w.fungus("red", "amanita")
					stop := w.pagesAt(path, answer)
					w.deleteNamespace("red")
					require.NotNil(w, w.after(time.Minute, "red"), "we don't know that all of it was deleted")
					stop()
					require.Nil(w, w.after(30*time.Minute, "red"))
					require.Zero(w, w.secrets("red"))
					require.Zero(w, w.fungi("red"))
				})
			})
		}
	}
}

// If a login portal answers a deletion, client-go takes it for a success.
func TestAWebPageIsNotADeletion(t *testing.T) {
	for _, text := range []string{"<html>log in</html>", "{}"} {
		withTenants(t, func(w *tenants) {
			w.secret("red", "a")
			w.answers(func(r *http.Request, response *http.Response) {
				if r.Method == http.MethodDelete {
					page(response, http.StatusOK, "text/html", text)
				}
			})
			w.deleteNamespace("red")
			w.after(time.Minute, "red")
			failed := ""
			for _, e := range w.Cluster.Trace.Events() {
				if e.Op == "delete" && e.Outcome == trace.Failed {
					failed = e.Reason
				}
			}
			require.Contains(w, failed, text)
		})
	}
}

// A login portal with an API answers every list with JSON.
func TestJSONThatIsNotAListKeepsTheNamespace(t *testing.T) {
	for _, body := range []string{
		`{"log":"in"}`, `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
	} {
		withTenants(t, func(w *tenants) {
			w.secret("red", "a")
			stop := w.pagesAt("/api/v1/namespaces/red/secrets", func(r *http.Response) {
				page(r, http.StatusOK, "application/json", body)
			})
			w.deleteNamespace("red")
			require.NotNil(w, w.after(time.Minute, "red"), body)
			stop()
			require.Nil(w, w.after(30*time.Minute, "red"))
			require.Zero(w, w.secrets("red"))
		})
	}
}

// withoutGroup makes discovery leave a group out, without any error: so does an API server that has
// just started, for CRDs.
func (w *tenants) withoutGroup(name string) (show func()) {
	return w.pagesAt("/apis", func(response *http.Response) {
		var groups metav1.APIGroupList
		require.NoError(w, json.NewDecoder(response.Body).Decode(&groups))
		groups.Groups = slices.DeleteFunc(groups.Groups,
			func(g metav1.APIGroup) bool { return g.Name == name })
		body, err := json.Marshal(groups)
		require.NoError(w, err)
		page(response, http.StatusOK, "application/json", string(body))
	})
}

// The custom resources would stay in etcd, and come back with the next namespace of this name.
func TestAGroupThatDiscoveryLeavesOutForAWhileKeepsTheNamespace(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.fungus("red", "amanita")
		w.deleteNamespace("blue")
		require.Nil(w, w.after(10*time.Second, "blue"), "now the controller knows the group")
		time.Sleep(time.Hour)
		show := w.withoutGroup("example.com")
		w.deleteNamespace("red")
		ns := w.after(20*time.Second, "red")
		require.NotNil(w, ns)
		require.Equal(w, []string{"NamespaceDeletionDiscoveryFailure: not every resource is known: " +
			"discovery had fungi.example.com, and lacks it now"}, bad(ns))
		show()
		require.Nil(w, w.after(10*time.Minute, "red"))
		require.Zero(w, w.fungi("red"))
	})
}

// Only an absence in each answer counts. An API server behind a load balancer may lack a group that
// its neighbour has.
func TestAGroupThatComesAndGoesIsNotForgotten(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.fungus("red", "amanita")
		w.deleteNamespace("blue")
		require.Nil(w, w.after(10*time.Second, "blue"), "now the controller knows the group")
		_, err := w.Other.CoreV1().Namespaces().Create(w.ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gray"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		show := w.withoutGroup("example.com")
		w.deleteNamespace("gray")
		require.NotNil(w, w.after(20*time.Second, "gray"))
		show()
		require.Nil(w, w.after(10*time.Minute, "gray"))
		show = w.withoutGroup("example.com")
		w.deleteNamespace("red")
		require.NotNil(w, w.after(20*time.Second, "red"), "the old absence was counted")
		show()
		require.Nil(w, w.after(10*time.Minute, "red"))
		require.Zero(w, w.fungi("red"))
	})
}

// After a CRD was deleted, no namespace could ever be deleted again.
func TestAGroupThatStaysAwayIsForgotten(t *testing.T) {
	withTenants(t, func(w *tenants) {
		w.deleteNamespace("blue")
		require.Nil(w, w.after(10*time.Second, "blue"))
		w.Server.Unregister(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "fungi"})
		w.deleteNamespace("red")
		require.NotNil(w, w.after(30*time.Second, "red"))
		require.Nil(w, w.after(time.Minute, "red"))
	})
}
