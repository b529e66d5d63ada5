package manager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
	theirfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	ourclient "github.com/loopwright/loopwright/manager/client"
	ourfake "github.com/loopwright/loopwright/manager/client/fake"
)

// side is one of the two fake clients, with what the stories need. Objects are the same Go types.
type side struct {
	get          func(namespace, name string, obj theirclient.Object) error
	list         func(theirclient.ObjectList, map[string]string, map[string]string) error
	create       func(theirclient.Object) error
	update       func(theirclient.Object) error
	updateStatus func(theirclient.Object) error
	merge        func(old, obj theirclient.Object, locked bool) error
	remove       func(theirclient.Object) error
	removeAll    func(theirclient.Object, map[string]string) error
	dryCreate    func(theirclient.Object) error
	removeBy     func(theirclient.Object, metav1.DeletionPropagation) error
	patch        func(theirclient.Object, types.PatchType, string) error
	patchStatus  func(theirclient.Object, string) error
	patchSub     func(subResource string, obj theirclient.Object, data string) error
	apply        func(theirclient.Object) error // with a patch
	applyStatus  func(theirclient.Object) error
	listPage     func(list theirclient.ObjectList, limit int64) error
	watch        func(theirclient.ObjectList) (watch.Interface, error)
	subResource  func(name string) subResource
	isNamespaced func(theirclient.Object) (bool, error)
	getTooLate   func(theirclient.Object) error // with a context that has ended
}

// subResource is a client of a subresource, without its options.
type subResource struct {
	get, create, update func(obj, body theirclient.Object) error
}

// ourSide is what a test has without LikeControllerRuntime.
func ourSide(seeds ...theirclient.Object) side { return ourSideOf(ourfake.NewClientBuilder(), seeds) }

// looseSide is what it has with it.
func looseSide(seeds ...theirclient.Object) side {
	return ourSideOf(ourfake.NewClientBuilder().LikeControllerRuntime(), seeds)
}

func ourSideOf(b *ourfake.ClientBuilder, seeds []theirclient.Object) side {
	for _, obj := range seeds {
		b.WithObjects(obj)
	}
	b.WithIndex(&corev1.Pod{}, "node", func(obj ourclient.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
	c, ctx := b.Build(), context.Background()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return side{
		get: func(namespace, name string, obj theirclient.Object) error {
			return c.Get(ctx, ourclient.ObjectKey{Namespace: namespace, Name: name}, obj)
		},
		list: func(list theirclient.ObjectList, labels, fields map[string]string) error {
			return c.List(ctx, list, ourclient.MatchingLabels(labels), optional[ourclient.ListOption](fields != nil, ourclient.MatchingFields(fields), ourclient.InNamespace("")))
		},
		create:       func(obj theirclient.Object) error { return c.Create(ctx, obj) },
		update:       func(obj theirclient.Object) error { return c.Update(ctx, obj) },
		updateStatus: func(obj theirclient.Object) error { return c.Status().Update(ctx, obj) },
		merge: func(old, obj theirclient.Object, locked bool) error {
			if locked {
				return c.Patch(ctx, obj, ourclient.MergeFromWithOptions(old, ourclient.MergeFromWithOptimisticLock{}))
			}
			return c.Patch(ctx, obj, ourclient.MergeFrom(old))
		},
		remove: func(obj theirclient.Object) error { return c.Delete(ctx, obj) },
		removeAll: func(obj theirclient.Object, labels map[string]string) error {
			return c.DeleteAllOf(ctx, obj, ourclient.InNamespace("default"), ourclient.MatchingLabels(labels))
		},
		dryCreate: func(obj theirclient.Object) error { return c.Create(ctx, obj, ourclient.DryRunAll) },
		removeBy: func(obj theirclient.Object, policy metav1.DeletionPropagation) error {
			return c.Delete(ctx, obj, ourclient.PropagationPolicy(policy))
		},
		patch: func(obj theirclient.Object, kind types.PatchType, data string) error {
			return c.Patch(ctx, obj, ourclient.RawPatch(kind, []byte(data)))
		},
		patchSub: func(subResource string, obj theirclient.Object, data string) error {
			return c.SubResource(subResource).Patch(ctx, obj, ourclient.RawPatch(types.MergePatchType, []byte(data)))
		},
		patchStatus: func(obj theirclient.Object, data string) error {
			return c.Status().Patch(ctx, obj, ourclient.RawPatch(types.MergePatchType, []byte(data)))
		},
		apply: func(obj theirclient.Object) error {
			return c.Patch(ctx, obj, ourclient.Apply, ourclient.FieldOwner("me"), ourclient.ForceOwnership) //nolint:staticcheck // tests use it
		},
		applyStatus: func(obj theirclient.Object) error {
			return c.Status().Patch(ctx, obj, ourclient.Apply, ourclient.FieldOwner("me"), ourclient.ForceOwnership) //nolint:staticcheck // tests use it
		},
		listPage:     func(list theirclient.ObjectList, limit int64) error { return c.List(ctx, list, ourclient.Limit(limit)) },
		watch:        func(list theirclient.ObjectList) (watch.Interface, error) { return c.Watch(ctx, list) },
		isNamespaced: func(obj theirclient.Object) (bool, error) { return c.IsObjectNamespaced(obj) },
		getTooLate: func(obj theirclient.Object) error {
			return c.Get(ended, ourclient.ObjectKeyFromObject(obj), obj)
		},
		subResource: func(name string) subResource {
			s := c.SubResource(name)
			return subResource{
				get:    func(obj, body theirclient.Object) error { return s.Get(ctx, obj, body) },
				create: func(obj, body theirclient.Object) error { return s.Create(ctx, obj, body) },
				update: func(obj, body theirclient.Object) error {
					if body == nil {
						return s.Update(ctx, obj)
					}
					return s.Update(ctx, obj, ourclient.WithSubResourceBody(body))
				},
			}
		},
	}
}

func theirSide(seeds ...theirclient.Object) side {
	b := theirfake.NewClientBuilder().WithObjects(seeds...)
	b.WithIndex(&corev1.Pod{}, "node", func(obj theirclient.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
	c, ctx := b.Build(), context.Background()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return side{
		get: func(namespace, name string, obj theirclient.Object) error {
			return c.Get(ctx, theirclient.ObjectKey{Namespace: namespace, Name: name}, obj)
		},
		list: func(list theirclient.ObjectList, labels, fields map[string]string) error {
			return c.List(ctx, list, theirclient.MatchingLabels(labels), optional[theirclient.ListOption](fields != nil, theirclient.MatchingFields(fields), theirclient.InNamespace("")))
		},
		create:       func(obj theirclient.Object) error { return c.Create(ctx, obj) },
		update:       func(obj theirclient.Object) error { return c.Update(ctx, obj) },
		updateStatus: func(obj theirclient.Object) error { return c.Status().Update(ctx, obj) },
		merge: func(old, obj theirclient.Object, locked bool) error {
			if locked {
				return c.Patch(ctx, obj, theirclient.MergeFromWithOptions(old, theirclient.MergeFromWithOptimisticLock{}))
			}
			return c.Patch(ctx, obj, theirclient.MergeFrom(old))
		},
		remove: func(obj theirclient.Object) error { return c.Delete(ctx, obj) },
		removeAll: func(obj theirclient.Object, labels map[string]string) error {
			return c.DeleteAllOf(ctx, obj, theirclient.InNamespace("default"), theirclient.MatchingLabels(labels))
		},
		dryCreate: func(obj theirclient.Object) error { return c.Create(ctx, obj, theirclient.DryRunAll) },
		removeBy: func(obj theirclient.Object, policy metav1.DeletionPropagation) error {
			return c.Delete(ctx, obj, theirclient.PropagationPolicy(policy))
		},
		patch: func(obj theirclient.Object, kind types.PatchType, data string) error {
			return c.Patch(ctx, obj, theirclient.RawPatch(kind, []byte(data)))
		},
		patchSub: func(subResource string, obj theirclient.Object, data string) error {
			return c.SubResource(subResource).Patch(ctx, obj, theirclient.RawPatch(types.MergePatchType, []byte(data)))
		},
		patchStatus: func(obj theirclient.Object, data string) error {
			return c.Status().Patch(ctx, obj, theirclient.RawPatch(types.MergePatchType, []byte(data)))
		},
		apply: func(obj theirclient.Object) error {
			return c.Patch(ctx, obj, theirclient.Apply, theirclient.FieldOwner("me"), theirclient.ForceOwnership) //nolint:staticcheck // tests use it
		},
		applyStatus: func(obj theirclient.Object) error {
			return c.Status().Patch(ctx, obj, theirclient.Apply, theirclient.FieldOwner("me"), theirclient.ForceOwnership) //nolint:staticcheck // tests use it
		},
		listPage: func(list theirclient.ObjectList, limit int64) error {
			return c.List(ctx, list, theirclient.Limit(limit))
		},
		watch:        func(list theirclient.ObjectList) (watch.Interface, error) { return c.Watch(ctx, list) },
		isNamespaced: func(obj theirclient.Object) (bool, error) { return c.IsObjectNamespaced(obj) },
		getTooLate: func(obj theirclient.Object) error {
			return c.Get(ended, theirclient.ObjectKeyFromObject(obj), obj)
		},
		subResource: func(name string) subResource {
			s := c.SubResource(name)
			return subResource{
				get:    func(obj, body theirclient.Object) error { return s.Get(ctx, obj, body) },
				create: func(obj, body theirclient.Object) error { return s.Create(ctx, obj, body) },
				update: func(obj, body theirclient.Object) error {
					if body == nil {
						return s.Update(ctx, obj)
					}
					return s.Update(ctx, obj, theirclient.WithSubResourceBody(body))
				},
			}
		},
	}
}

func optional[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

// story is a part of a user's test: what it sees is what it notes.
type story struct {
	name  string
	seeds func() []theirclient.Object
	play  func(s side, note func(what ...any))
	// differs says why ours is another one, on purpose.
	differs string
}

func verdict(err error) string {
	switch {
	case err == nil:
		return "ok"
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return string(apierrors.ReasonForError(err))
	}
	return "error"
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

func aConfigMap(name string) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: meta(name)} }

func aPod(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"on": node}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}}
}

func aDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "d"}
	return &appsv1.Deployment{ObjectMeta: meta("d"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}}}}
}

func aGizmo(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	u.SetAPIVersion("shop.example/v1")
	u.SetKind("Gizmo")
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

func objects(all ...theirclient.Object) func() []theirclient.Object {
	return func() []theirclient.Object {
		var out []theirclient.Object
		for _, obj := range all {
			out = append(out, obj.DeepCopyObject().(theirclient.Object))
		}
		return out
	}
}

func withFinalizer(obj theirclient.Object) theirclient.Object {
	obj.SetFinalizers([]string{"shop.example/wait"})
	return obj
}

func TestTheFakeClientsTellTheSameStories(t *testing.T) { tellStories(t, stories) }

func tellStories(t *testing.T, stories []story) {
	t.Helper()
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			seeds := st.seeds
			if seeds == nil {
				seeds = objects()
			}
			want := hear(st, seeds, theirSide)
			compareStories(t, want, hear(st, seeds, ourSide), st.differs)
			t.Run("LikeControllerRuntime", func(t *testing.T) {
				compareStories(t, want, hear(st, seeds, looseSide), "")
			})
		})
	}
}

func compareStories(t *testing.T, want, got, onPurpose string) {
	t.Helper()
	if onPurpose == "" {
		require.Equal(t, want, got, "a user's test must mean the same with our fake client")
		return
	}
	require.NotEqual(t, want, got, "the two agree by now: remove what explains the difference")
	t.Logf("on purpose: %s\ntheirs: %s\nours:   %s", onPurpose, want, got)
}

// hear plays a story. A panic is something that a test notices, too.
func hear(st story, seeds func() []theirclient.Object, make func(...theirclient.Object) side) (heard string) {
	var lines []string
	defer func() {
		if p := recover(); p != nil {
			lines = append(lines, "panic")
		}
		heard = strings.Join(lines, "; ")
	}()
	st.play(make(seeds()...), func(what ...any) { lines = append(lines, strings.TrimSpace(fmt.Sprintln(what...))) })
	return
}

// whole shows all of an object. A time that the clients take from the clock is shown as "now".
func whole(obj any) string {
	text, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return aMomentAgo.ReplaceAllString(string(text), `"now"`)
}

var aMomentAgo = regexp.MustCompile(`"202[5-9]-[^"]*Z"`)
