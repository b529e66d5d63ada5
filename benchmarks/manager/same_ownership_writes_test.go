package manager_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
	theirs "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/loopwright/loopwright/internal/fakeapi"
	ourclient "github.com/loopwright/loopwright/manager/client"
	ours "github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// change is one call of CreateOrUpdate or CreateOrPatch.
type change struct {
	name string
	seed theirclient.Object // what is there; nil is nothing
	into func() theirclient.Object
	do   func(theirclient.Object) error // nil is no function
	// fails is a fault of the server.
	fails *fakeapi.Fault
	// differs says why ours does something else in CreateOrPatch.
	differs string
}

var errNotNow = errors.New("not now")

func freeDeployment() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	u.SetNamespace("default")
	u.SetName("d")
	return u
}

func typedDeployment() theirclient.Object { return &appsv1.Deployment{ObjectMeta: meta("d")} }

// both changes a typed or an unstructured Deployment.
func both(spec, status bool) func(theirclient.Object) error {
	return func(obj theirclient.Object) error {
		switch d := obj.(type) {
		case *appsv1.Deployment:
			if spec {
				d.Spec.Paused = true
			}
			if status {
				d.Status.ObservedGeneration = 7
			}
		case *unstructured.Unstructured:
			if spec {
				_ = unstructured.SetNestedField(d.Object, true, "spec", "paused")
			}
			if status {
				_ = unstructured.SetNestedField(d.Object, int64(7), "status", "observedGeneration")
			}
		}
		return nil
	}
}

func free() theirclient.Object { return freeDeployment() }

func withStatus() theirclient.Object {
	d := aDeployment()
	d.Status.Replicas = 3
	return d
}

const cutsTheObject = "theirs takes the status out of an unstructured object itself, and then writes that there is none"

const sendsMore = "theirs sends all that the first patch's answer brought in the second one, too, and its version makes that a conflict if another client writes in between"

var changes = []change{
	{name: "create", into: func() theirclient.Object { return aDeployment() }, do: both(true, true)},
	{name: "create without a function", into: func() theirclient.Object { return aDeployment() }},
	{name: "create what is not complete", into: typedDeployment, do: both(true, false)},
	{name: "create, and the function fails", into: typedDeployment, do: func(theirclient.Object) error { return errNotNow }},
	{name: "create, and the function renames it", into: typedDeployment, do: func(d theirclient.Object) error { d.SetName("e"); return nil }},
	{name: "no change", seed: withStatus(), into: typedDeployment, do: both(false, false)},
	{name: "no function", seed: withStatus(), into: typedDeployment},
	{name: "the spec", seed: withStatus(), into: typedDeployment, do: both(true, false)},
	{name: "the status", seed: withStatus(), into: typedDeployment, do: both(false, true)},
	{name: "spec and status", seed: withStatus(), into: typedDeployment, do: both(true, true), differs: sendsMore},
	{name: "no status any more", seed: withStatus(), into: typedDeployment, do: func(d theirclient.Object) error {
		d.(*appsv1.Deployment).Status = appsv1.DeploymentStatus{}
		return nil
	}},
	{name: "an empty map instead of none", seed: aDeployment(), into: typedDeployment, do: func(d theirclient.Object) error {
		d.SetAnnotations(map[string]string{})
		return nil
	}},
	{name: "a default that is reset", seed: aDeployment(), into: typedDeployment, do: func(d theirclient.Object) error {
		d.(*appsv1.Deployment).Spec.Replicas = nil
		return nil
	}},
	{name: "a function that fails", seed: aDeployment(), into: typedDeployment, do: func(theirclient.Object) error { return errNotNow }},
	{name: "another name", seed: aDeployment(), into: typedDeployment, do: func(d theirclient.Object) error { d.SetName("e"); return nil }},
	{name: "another namespace", seed: aDeployment(), into: typedDeployment, do: func(d theirclient.Object) error { d.SetNamespace("e"); return nil }},
	{name: "a kind without a status", seed: aConfigMap("a"), into: func() theirclient.Object { return aConfigMap("a") }, do: func(c theirclient.Object) error {
		c.(*corev1.ConfigMap).Data = map[string]string{"k": "v"}
		return nil
	}},
	{name: "an unstructured object, no change", seed: withStatus(), into: free, do: both(false, false), differs: cutsTheObject},
	{name: "an unstructured object, the spec", seed: withStatus(), into: free, do: both(true, false), differs: cutsTheObject},
	{name: "an unstructured object, the status", seed: withStatus(), into: free, do: both(false, true), differs: cutsTheObject},
	{name: "an unstructured object, both", seed: withStatus(), into: free, do: both(true, true), differs: cutsTheObject},
	{name: "an unstructured object that is new", into: func() theirclient.Object { return aGizmo("a") }, do: both(true, true)},
	{name: "the read fails", seed: aDeployment(), into: typedDeployment, do: both(true, true), fails: &fakeapi.Fault{Match: fakeapi.Match{Verb: "get"}, Status: fakeapi.Unavailable()}},
	{name: "somebody else made it", into: func() theirclient.Object { return aDeployment() }, fails: &fakeapi.Fault{Match: fakeapi.Match{Verb: "create"}, Status: fakeapi.Conflict()}},
	{name: "a conflict", seed: aDeployment(), into: typedDeployment, do: both(true, true), fails: &fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Status: fakeapi.Conflict()}, differs: sendsMore},
	{name: "the first patch fails", seed: aDeployment(), into: typedDeployment, do: both(true, true), fails: &fakeapi.Fault{Match: fakeapi.Match{Verb: "patch"}, Times: 1, Status: fakeapi.InternalError()}},
	{name: "the second patch fails", seed: aDeployment(), into: typedDeployment, do: both(true, true), fails: &fakeapi.Fault{Match: fakeapi.Match{Verb: "patch", Subresource: "status"}, Status: fakeapi.InternalError()}, differs: sendsMore},
}

// seen is all that a user can notice of a change.
type seen struct {
	Result, Error string
	Requests      []string
	Object        theirclient.Object
}

// A user's controller would write too often, too little, or something else.
func TestCreateOrUpdateAndCreateOrPatchSendTheRequestsOfControllerRuntime(t *testing.T) {
	ourCalls := map[string]func(context.Context, ourclient.Client, ourclient.Object, ours.MutateFn) (ours.OperationResult, error){"CreateOrUpdate": ours.CreateOrUpdate, "CreateOrPatch": ours.CreateOrPatch}
	theirCalls := map[string]func(context.Context, theirclient.Client, theirclient.Object, theirs.MutateFn) (theirs.OperationResult, error){"CreateOrUpdate": theirs.CreateOrUpdate, "CreateOrPatch": theirs.CreateOrPatch}
	for _, call := range []string{"CreateOrUpdate", "CreateOrPatch"} {
		for _, c := range changes {
			t.Run(call+"/"+c.name, func(t *testing.T) {
				theirSide, ourSide := watchChange(t, c, func(t *testing.T, w *changeWorld, obj theirclient.Object, f func() error) (string, error) {
					client, err := theirclient.New(w.config(), theirclient.Options{})
					require.NoError(t, err)
					result, err := theirCalls[call](t.Context(), client, obj, f)
					return string(result), err
				}), watchChange(t, c, func(t *testing.T, w *changeWorld, obj theirclient.Object, f func() error) (string, error) {
					client, err := ourclient.New(w.config(), ourclient.Options{})
					require.NoError(t, err)
					result, err := ourCalls[call](t.Context(), client, obj, f)
					return string(result), err
				})
				if c.differs == "" || call == "CreateOrUpdate" {
					require.Equal(t, theirSide, ourSide)
					return
				}
				require.NotEqual(t, theirSide, ourSide, "the two agree by now: remove what explains the difference")
			})
		}
	}
}

// An unstructured object loses its status, though nobody wanted that.
func TestControllerRuntimesCreateOrPatchLosesTheStatusOfAnUnstructuredObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newChangeWorld(t, withStatus())
		defer w.server.Close()
		client, err := theirclient.New(w.config(), theirclient.Options{})
		require.NoError(t, err)
		obj := freeDeployment()
		result, err := theirs.CreateOrPatch(t.Context(), client, obj, func() error { return both(false, true)(obj) })
		require.NoError(t, err)
		require.Equal(t, theirs.OperationResultUpdatedStatusOnly, result)
		d := &appsv1.Deployment{}
		require.NoError(t, client.Get(t.Context(), theirclient.ObjectKey{Namespace: "default", Name: "d"}, d))
		require.Zero(t, d.Status, "theirs keeps it by now: remove what explains the difference")

		d.Status.Replicas = 3
		require.NoError(t, client.Status().Update(t.Context(), d))
		mine, err := ourclient.New(w.config(), ourclient.Options{})
		require.NoError(t, err)
		obj = freeDeployment()
		ourResult, err := ours.CreateOrPatch(t.Context(), mine, obj, func() error { return both(false, true)(obj) })
		require.NoError(t, err)
		require.Equal(t, ours.OperationResultUpdatedStatusOnly, ourResult)
		require.NoError(t, client.Get(t.Context(), theirclient.ObjectKey{Namespace: "default", Name: "d"}, d))
		require.Equal(t, []int64{3, 7}, []int64{int64(d.Status.Replicas), d.Status.ObservedGeneration})
	})
}

// changeWorld is a server, and what is sent to it.
type changeWorld struct {
	server *fakeapi.Server
	mu     sync.Mutex // guards sent
	sent   []string
}

func newChangeWorld(t *testing.T, seed theirclient.Object) *changeWorld {
	w := &changeWorld{server: fakeapi.New(fakeapi.Options{Seed: 15, HideManagedFields: true, Kinds: []fakeapi.Kind{{Group: "shop.example", Version: "v1", Kind: "Gizmo", Status: true}}})}
	if seed != nil {
		resource := corev1.SchemeGroupVersion.WithResource("configmaps")
		if _, is := seed.(*appsv1.Deployment); is {
			resource = appsv1.SchemeGroupVersion.WithResource("deployments")
		}
		_, err := w.server.Load(resource, seed.DeepCopyObject())
		require.NoError(t, err)
	}
	return w
}

func watchChange(t *testing.T, c change, call func(*testing.T, *changeWorld, theirclient.Object, func() error) (string, error)) (s seen) {
	synctest.Test(t, func(t *testing.T) {
		w := newChangeWorld(t, c.seed)
		defer w.server.Close()
		if c.fails != nil {
			defer w.server.Inject(*c.fails)()
		}
		obj := c.into()
		var f func() error
		if c.do != nil {
			f = func() error { return c.do(obj) }
		}
		result, err := call(t, w, obj, f)
		s = seen{Result: result, Object: obj, Requests: w.sent, Error: verdict(err)}
		if errors.Is(err, errNotNow) {
			s.Error = err.Error()
		}
	})
	return s
}

func (w *changeWorld) config() *rest.Config {
	config := w.server.Config()
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json" // so that the bodies can be read
	next := config.Transport
	config.Transport = tripper(func(request *http.Request) (*http.Response, error) {
		var body []byte
		if request.Body != nil {
			body, _ = io.ReadAll(request.Body)
			request.Body = io.NopCloser(bytes.NewReader(body))
		}
		if strings.Contains(request.URL.Path, "/namespaces/") {
			w.mu.Lock()
			w.sent = append(w.sent, request.Method+" "+request.URL.RequestURI()+" "+request.Header.Get("Content-Type")+" "+string(body))
			w.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
	return config
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
