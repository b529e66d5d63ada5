package garbagecollector

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/log"
)

// realCluster is a real cluster without the original. The clusters of other tests run it.
type realCluster struct {
	*testing.T
	client.Client
	config *rest.Config
}

func newCluster(t *testing.T, originals ...string) *realCluster {
	log.SetLogger(logr.Discard())
	own := clustertest.WithOriginals(t, originals...)
	config := own.RESTConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return &realCluster{t, c, config}
}

// start runs our garbage collector until the end of the test.
func (r *realCluster) start() {
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- controllers.Run(running, r.config, controllers.Options{},
			func(mgr manager.Manager, options controllers.Options) error {
				return Settings{DiscoveryPeriod: time.Second}.Add(mgr, options)
			})
	}()
	r.Cleanup(func() {
		stop()
		require.NoError(r, <-ended)
	})
}

// eventually waits until a check holds. The machine may be slow.
func (r *realCluster) eventually(what string, check func(t *assert.CollectT)) {
	r.Helper()
	require.EventuallyWithT(r, check, 5*time.Minute, 100*time.Millisecond, what)
}

func (r *realCluster) isGone(t require.TestingT, object client.Object) {
	object = object.DeepCopyObject().(client.Object)
	err := r.Get(context.Background(), client.ObjectKeyFromObject(object), object)
	require.True(t, apierrors.IsNotFound(err), "%s: %v", object.GetName(), err)
}

func (r *realCluster) configMap(name string, refs ...metav1.OwnerReference) *corev1.ConfigMap {
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, OwnerReferences: refs,
	}}
	require.NoError(r, r.Create(r.Context(), made))
	return made
}

// informersHaveSeen waits until the collector has seen all ConfigMaps: an owner waits for the
// dependents that it has seen. It collects one that is garbage, and was created last.
func (r *realCluster) informersHaveSeen() {
	last := r.configMap("last", metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone",
	})
	r.eventually("garbage is collected", func(t *assert.CollectT) { r.isGone(t, last) })
}

func TestOnAClusterWithoutTheOriginalAllPoliciesWork(t *testing.T) {
	r := newCluster(t, "-garbage-collector-controller")
	r.start()
	for _, policy := range []metav1.DeletionPropagation{background, foreground, orphan} {
		name := map[metav1.DeletionPropagation]string{
			background: "background", foreground: "foreground", orphan: "orphan",
		}[policy]
		root := r.configMap(name)
		middle := r.configMap(name+"-middle", owner(root))
		leaf := r.configMap(name+"-leaf", owner(middle))
		r.informersHaveSeen()
		require.NoError(t, r.Delete(t.Context(), root, client.PropagationPolicy(policy)))
		r.eventually(name, func(t *assert.CollectT) {
			r.isGone(t, root)
			if policy != orphan {
				r.isGone(t, middle)
				r.isGone(t, leaf)
			}
		})
		if policy == orphan {
			require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(middle), middle))
			require.Empty(t, middle.OwnerReferences)
			require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(leaf), leaf))
			require.Len(t, leaf.OwnerReferences, 1)
		}
	}
	r.followsCRDs()
	r.followsVersions()
}

var (
	crates  = schema.GroupVersionKind{Group: "gc.example.com", Version: "v1", Kind: "Crate"}
	barrels = schema.GroupVersionKind{Group: "gc.example.com", Kind: "Barrel"}
	crdKind = schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	}
)

// followsCRDs lets a kind come, go and come back while the collector runs.
func (r *realCluster) followsCRDs() {
	for _, life := range []string{"first", "second"} {
		crd := definition(crates, crates.Version)
		// The API server deletes the objects of a kind before the kind itself, and closes the kind's
		// watches about a second later (apiextensions-apiserver v0.36.3, customresource_handler.go,
		// tearDown). On a slow machine they may not have shown the deletions by then. So a finalizer
		// of ours keeps the kind until they have.
		controllerutil.AddFinalizer(crd, "example.com/the-watches-show-it")
		require.NoError(r, r.Create(r.Context(), crd))
		root := object(crates, "default", life, nil)
		r.eventually("the kind is served", func(t *assert.CollectT) {
			require.NoError(t, client.IgnoreAlreadyExists(r.Create(context.Background(), root)))
		})
		require.NoError(r, r.Get(r.Context(), client.ObjectKeyFromObject(root), root))
		ref := metav1.OwnerReference{
			APIVersion: "gc.example.com/v1", Kind: "Crate", Name: life, UID: root.GetUID(),
			BlockOwnerDeletion: new(true),
		}
		crate := object(crates, "default", life+"-inner", nil)
		crate.SetOwnerReferences([]metav1.OwnerReference{ref})
		require.NoError(r, r.Create(r.Context(), crate))
		dependent := r.configMap(life+"-dependent", ref)
		require.NoError(r, r.Delete(r.Context(), root, client.PropagationPolicy(foreground)))
		r.eventually("a new kind is followed", func(t *assert.CollectT) {
			r.isGone(t, root)
			r.isGone(t, crate)
			r.isGone(t, dependent)
		})
		root.SetResourceVersion("")
		require.NoError(r, r.Create(r.Context(), root))
		ref.UID = root.GetUID()
		last := r.configMap(life+"-of-a-kind-that-goes", ref)
		require.NoError(r, r.Delete(r.Context(), crd))
		r.eventually("the watches have shown it", func(t *assert.CollectT) { r.isGone(t, last) })
		r.eventually("the kind is gone", func(t *assert.CollectT) {
			if r.Get(context.Background(), client.ObjectKeyFromObject(crd), crd) == nil {
				controllerutil.RemoveFinalizer(crd, "example.com/the-watches-show-it")
				assert.NoError(t, r.Update(context.Background(), crd))
			}
			r.isGone(t, crd)
		})
	}
}

// followsVersions lets another version of a kind become the preferred one.
func (r *realCluster) followsVersions() {
	old, newer := barrels, barrels
	old.Version, newer.Version = "v1beta1", "v1"
	require.NoError(r, r.Create(r.Context(), definition(old, old.Version)))
	roots := map[string]*unstructured.Unstructured{"before": object(old, "default", "before", nil)}
	r.eventually("the kind is served", func(t *assert.CollectT) {
		require.NoError(t, client.IgnoreAlreadyExists(r.Create(context.Background(), roots["before"])))
	})
	crd := definition(old, old.Version, newer.Version)
	require.NoError(r, r.Patch(r.Context(), crd, client.Merge))
	roots["after"] = object(newer, "default", "after", nil)
	r.eventually("the new version is served", func(t *assert.CollectT) {
		require.NoError(t, client.IgnoreAlreadyExists(r.Create(context.Background(), roots["after"])))
	})
	for name, root := range roots {
		require.NoError(r, r.Get(r.Context(), client.ObjectKeyFromObject(root), root))
		var dependents []*corev1.ConfigMap
		for _, kind := range []schema.GroupVersionKind{old, newer} {
			dependents = append(dependents, r.configMap(name+"-"+kind.Version, metav1.OwnerReference{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: name, UID: root.GetUID(),
			}))
		}
		require.NoError(r, r.Delete(r.Context(), root))
		r.eventually("dependents go, whichever version they name", func(t *assert.CollectT) {
			for _, dependent := range dependents {
				r.isGone(t, dependent)
			}
		})
	}
}

// definition is a CRD with these versions, the first of which is stored.
func definition(kind schema.GroupVersionKind, versions ...string) *unstructured.Unstructured {
	singular := strings.ToLower(kind.Kind)
	served := []any{}
	for i, version := range versions {
		served = append(served, map[string]any{
			"name": version, "served": true, "storage": i == 0, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object"},
			},
		})
	}
	return object(crdKind, "", singular+"s."+kind.Group, map[string]any{
		"group": kind.Group, "scope": "Namespaced", "versions": served,
		"names": map[string]any{"plural": singular + "s", "singular": singular, "kind": kind.Kind},
	})
}

func object(
	kind schema.GroupVersionKind, namespace, name string, spec map[string]any,
) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		made.Object["spec"] = spec
	}
	made.SetGroupVersionKind(kind)
	made.SetNamespace(namespace)
	made.SetName(name)
	return made
}

// Two garbage collectors would do no harm to each other's objects, but twice the work; and the user
// has forgotten to switch one off.
func TestWhereTheOriginalRunsOursDoesNotStart(t *testing.T) {
	r := newCluster(t)
	err := Run(t.Context(), r.config, 1)
	require.ErrorContains(t, err,
		"somebody else does the work of the garbage-collector-controller already")
	require.ErrorContains(t, err, "adding -garbage-collector-controller to ORIGINALS")
	var left corev1.ConfigMapList
	require.NoError(t, r.List(t.Context(), &left, client.InNamespace("default"),
		client.HasLabels{"loopwright.dev/probe"}))
	require.Empty(t, left.Items, "the probe is gone")
}
