package garbagecollector

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/client"
)

// lie is a wrong answer about discovery: to a path, or to those that begin with it if it ends in *.
type lie struct {
	path, contentType, body string
	code                    int
}

const (
	inText = "text/plain; charset=utf-8"
	inJSON = "application/json"
)

// lies are what load balancers, login pages and half-started servers say about discovery. Most of
// them are no error for client-go: a group is missing, and that's all.
var lies = map[string]lie{
	"404 for /api":          {"/api", inText, "404 page not found", 404},
	"404 for /api/v1":       {"/api/v1", inText, "404 page not found", 404},
	"404 for /apis":         {"/apis", inText, "404 page not found", 404},
	"404 for /apis/apps/v1": {"/apis/apps/v1", inText, "404 page not found", 404},
	"503 for /apis/apps/v1": {"/apis/apps/v1", inText, "no healthy upstream", 503},
	"404 for everything":    {"/api*", inText, "404 page not found", 404},
	"login page for /apis":  {"/apis", "text/html", "<html>Who are you?</html>", 200},
	"no groups":             {"/apis", inJSON, `{"kind":"APIGroupList","groups":[]}`, 200},
	"no versions":           {"/api", inJSON, `{"kind":"APIVersions","versions":[]}`, 200},
	"only one group": {"/apis", inJSON, `{"kind":"APIGroupList","groups":[{"name":"` + shop +
		`","versions":[{"groupVersion":"` + shop + `/v1","version":"v1"}]}]}`, 200},
	"an empty core group": {"/api/v1", inJSON, `{"kind":"APIResourceList","groupVersion":"v1"}`, 200},
}

// tell makes the proxy lie, this many times or always if it's 0, until the proxy is replaced. It
// returns the number of lies so far.
func (w *world) tell(l lie, times int64) *atomic.Int64 {
	told := new(atomic.Int64)
	start, isPrefix := strings.CutSuffix(l.path, "*")
	w.Proxy(func(r *http.Request) *http.Response {
		isDiscovery := strings.Count(r.URL.Path, "/") <= 2 && strings.HasPrefix(r.URL.Path, "/api/") ||
			strings.Count(r.URL.Path, "/") <= 3 && strings.HasPrefix(r.URL.Path, "/apis/") ||
			r.URL.Path == "/api" || r.URL.Path == "/apis"
		if r.URL.Path != l.path && !(isPrefix && isDiscovery && strings.HasPrefix(r.URL.Path, start)) {
			return nil
		}
		if n := told.Add(1); times > 0 && n > times {
			return nil
		}
		return fakeapi.Answer(r, l.code, l.contentType, l.body)
	})
	return told
}

// families creates a Widget for each policy, which owns a Pod and a ReplicaSet: dependents in two
// other groups.
func (w *world) families() {
	w.T.Helper()
	for _, policy := range policies {
		w.widget(nameIn("root", policy), []metav1.OwnerReference{}...)
		w.dependents(policy, "early")
	}
}

// root is the Widget that is deleted with a policy.
func root(policy metav1.DeletionPropagation) *metav1.PartialObjectMetadata {
	root := metadataOf(schema.GroupVersionKind{Group: shop, Version: "v1", Kind: "Widget"})
	root.Namespace, root.Name = "default", nameIn("root", policy)
	return root
}

// nameOf is the name of a Pod and a ReplicaSet.
func nameOf(policy metav1.DeletionPropagation, when string) string {
	return strings.ToLower(string(policy)) + "-" + when
}

// deleteRoots deletes each root with its policy.
func (w *world) deleteRoots() {
	w.T.Helper()
	for _, policy := range policies {
		require.NoError(w.T, w.Live.Delete(w.T.Context(), root(policy),
			client.PropagationPolicy(policy)))
	}
}

// rootsWait checks that no finalizer has gone.
func (w *world) rootsWait() {
	w.T.Helper()
	for _, policy := range policies {
		require.Equal(w.T, policy != background, w.isThere(root(policy)),
			"%s: a finalizer went while dependents were unknown", policy)
	}
}

// dependents creates a Pod and a ReplicaSet that a root owns.
func (w *world) dependents(policy metav1.DeletionPropagation, when string) {
	w.T.Helper()
	name, of := nameOf(policy, when), root(policy)
	w.Read(of)
	refs := []metav1.OwnerReference{{
		APIVersion: shop + "/v1", Kind: "Widget", Name: of.Name, UID: of.UID,
		BlockOwnerDeletion: new(true),
	}}
	labels := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	meta := metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: refs}
	w.Create(&corev1.Pod{ObjectMeta: *meta.DeepCopy(), Spec: template.Spec})
	w.Create(&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
	}})
}

// ends checks how the deletions have ended, and that nothing went too early on the way.
func (w *world) ends(times ...string) {
	w.T.Helper()
	left := w.left()
	for _, policy := range policies {
		require.False(w.T, w.isThere(root(policy)), "%s: the owner waits, though all is well again",
			policy)
		for _, when := range times {
			for _, kind := range []string{"pod/", "replicaset/"} {
				if policy == orphan {
					require.Contains(w.T, left, kind+nameOf(policy, when), "a user wanted to keep it")
				} else {
					require.NotContains(w.T, left, kind+nameOf(policy, when), "garbage stays")
				}
			}
		}
	}
	isGone := false // the root of the foreground
	for _, change := range w.Changes() {
		switch name := change.Object.GetName(); {
		case strings.HasPrefix(name, nameOf(orphan, "")):
			require.Nil(w.T, change.Object.GetDeletionTimestamp(), "%s was to be kept", name)
			require.False(w.T, change.IsGone, "%s was to be kept", name)
		case name == nameIn("root", foreground):
			isGone = isGone || change.IsGone
		case strings.HasPrefix(name, nameOf(foreground, "")):
			require.False(w.T, isGone, "the owner went before %s, which blocks it", name)
		}
	}
}

// judges records the changes of the families.
func (w *world) judges() {
	widgets := &metav1.PartialObjectMetadataList{}
	widgets.APIVersion, widgets.Kind = shop+"/v1", "WidgetList"
	w.Watch(&corev1.PodList{}, &appsv1.ReplicaSetList{}, widgets)
}

var policies = []metav1.DeletionPropagation{background, foreground, orphan}

// inFamilies runs a test in a world with a family for each policy.
func inFamilies(t *testing.T, test func(t *testing.T, w *world)) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Register(widgets)
		w.judges()
		w.families()
		test(t, w)
	})
}

// inEachLie plays each lie.
func inEachLie(t *testing.T, test func(t *testing.T, w *world, l lie)) {
	for name, l := range inorder.Map(lies) {
		t.Run(name, func(t *testing.T) {
			inFamilies(t, func(t *testing.T, w *world) { test(t, w, l) })
		})
	}
}

// kubectl delete --cascade=orphan, while a load balancer answers one question for discovery, would
// delete the Pods that the user wants to keep.
func TestOneWrongAnswerOfDiscoveryLosesNoObject(t *testing.T) {
	inEachLie(t, func(t *testing.T, w *world, l lie) {
		w.run()
		told := w.tell(l, 1)
		for told.Load() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		w.deleteRoots()
		time.Sleep(3 * time.Minute)
		w.ends("early")
	})
}

// The same, if it answers so for minutes.
func TestAWrongAnswerOfDiscoveryForMinutesLosesNoObject(t *testing.T) {
	inEachLie(t, func(t *testing.T, w *world, l lie) {
		w.run()
		w.tell(l, 0)
		time.Sleep(time.Minute)
		for _, policy := range policies {
			w.dependents(policy, "late")
		}
		w.deleteRoots()
		time.Sleep(2 * time.Minute)
		w.rootsWait()
		w.Proxy(nil)
		time.Sleep(time.Minute)
		w.ends("early", "late")
	})
}

// The same, if the collector starts while a group can't be seen.
func TestAGroupThatIsUnknownFromTheStartLosesNoObject(t *testing.T) {
	inEachLie(t, func(t *testing.T, w *world, l lie) {
		always := int64(0)
		if l.body == lies["only one group"].body {
			// Nobody can tell this from an API server that has no other groups, but the one that is
			// starting has them soon.
			always = completeAnswers - 1
		}
		w.tell(l, always)
		w.Start()
		time.Sleep(2 * time.Second)
		w.deleteRoots()
		time.Sleep(time.Minute)
		w.Proxy(nil)
		time.Sleep(time.Minute)
		w.ends("early")
	})
}

// The same, if a kind can't be listed for longer than the collector waits for it.
func TestAKindThatCannotBeListedLosesNoObject(t *testing.T) {
	inFamilies(t, func(t *testing.T, w *world) {
		lift := w.blind("pods")
		w.Start()
		time.Sleep(syncPatience + 10*time.Second)
		w.deleteRoots()
		time.Sleep(20 * time.Second)
		w.rootsWait()
		lift()
		time.Sleep(2 * time.Minute)
		w.ends("early")
	})
}

// blind keeps the collector from listing and watching a resource.
func (w *world) blind(resource string) (lift func()) {
	var lifts []func()
	for _, verb := range []string{"list", "watch"} {
		lifts = append(lifts, w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{UserAgent: simulation.Agent, Verb: verb, Resource: resource},
			Status: fakeapi.Unavailable(),
		}))
	}
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

// The same, if a kind was listed once, and can't be watched any more when a dependent is created.
func TestADependentThatIsCreatedWhileItsKindCannotBeWatchedIsNotLost(t *testing.T) {
	inFamilies(t, func(t *testing.T, w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match:    fakeapi.Match{UserAgent: simulation.Agent, Verb: "watch", Resource: "pods"},
			CutAfter: 2 * time.Minute,
		})
		w.run()
		lift := w.blind("pods")
		time.Sleep(3 * time.Minute)
		for _, policy := range policies {
			w.dependents(policy, "late")
		}
		w.deleteRoots()
		time.Sleep(time.Minute)
		w.rootsWait()
		lift()
		time.Sleep(2 * time.Minute)
		w.ends("early", "late")
	})
}
