package manager_test

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/watch"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applyautoscalingv1 "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
	theirfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	theirinterceptor "sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ourclient "github.com/loopwright/loopwright/manager/client"
	ourfake "github.com/loopwright/loopwright/manager/client/fake"
	ourinterceptor "github.com/loopwright/loopwright/manager/client/interceptor"
)

// callOptions are those of all calls.
type callOptions struct {
	dryRun        []string
	manager       string
	force         *bool
	preconditions *metav1.Preconditions
	namespace     string
	labels        labels.Selector
	fields        fields.Selector
	limit         int64
	body          theirclient.Object
	applied       any // a body to apply
}

// aPatch is how a patch is made.
type aPatch struct {
	kind types.PatchType
	data string
	from theirclient.Object // or of two objects
	lock bool
}

// fakeSide is one of the two clients. Subresources are named; "" is the object.
type fakeSide interface {
	get(key theirclient.ObjectKey, obj theirclient.Object) error
	list(list theirclient.ObjectList, o callOptions) error
	watch(list theirclient.ObjectList) (watch.Interface, error)
	create(obj theirclient.Object, o callOptions) error
	update(obj theirclient.Object, o callOptions) error
	patch(sub string, obj theirclient.Object, p aPatch, o callOptions) error
	remove(obj theirclient.Object, o callOptions) error
	removeAll(obj theirclient.Object, o callOptions) error
	apply(sub string, config any, o callOptions) error
	subGet(sub string, obj, body theirclient.Object) error
	subCreate(sub string, obj, body theirclient.Object) error
	subUpdate(sub string, obj theirclient.Object, o callOptions) error
	kindFor(obj runtime.Object) (any, error)
	isNamespaced(obj runtime.Object) (bool, error)
	unstructuredConfig(u *unstructured.Unstructured) any
}

type theirVerbs struct{ c theirclient.WithWatch }

func theirFake(w world) fakeSide {
	b := theirfake.NewClientBuilder().WithScheme(w.scheme).WithStatusSubresource(&Trinket{}).WithObjects(w.seeds...).WithLists(w.lists...).WithRuntimeObjects(w.others...)
	b.WithIndex(&Trinket{}, "count", func(obj theirclient.Object) []string { return indexed(obj) })
	if w.managedFields {
		b.WithReturnManagedFields()
	}
	if w.oneCounter {
		b.WithGlobalResourceVersionCounter()
	}
	if w.deduces {
		b.WithTypeConverters(managedfields.NewDeducedTypeConverter())
	}
	if w.maps {
		b.WithRESTMapper(oddMapper())
	}
	if w.intercepts {
		b.WithInterceptorFuncs(theirinterceptor.Funcs{Create: func(ctx context.Context, c theirclient.WithWatch, obj theirclient.Object, opts ...theirclient.CreateOption) error {
			obj.SetLabels(map[string]string{"intercepted": ""})
			return c.Create(ctx, obj, opts...)
		}, SubResourceUpdate: func(context.Context, theirclient.Client, string, theirclient.Object, ...theirclient.SubResourceUpdateOption) error {
			return errIntercepted
		}})
	}
	return theirVerbs{b.Build()}
}

var errIntercepted = errors.New("intercepted")

func oddMapper() apimeta.RESTMapper {
	m := apimeta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), apimeta.RESTScopeNamespace)
	m.Add(trinkets.WithKind("Trinket"), apimeta.RESTScopeRoot)
	return m
}

func indexed(obj runtime.Object) []string {
	if obj.(*Trinket).Spec.Count == 0 {
		return nil
	}
	return []string{"many"}
}

type ourVerbs struct{ c ourclient.WithWatch }

func ourFake(w world) fakeSide {
	b := ourfake.NewClientBuilder().LikeControllerRuntime().WithScheme(w.scheme).WithStatusSubresource(&Trinket{}).WithRuntimeObjects(w.others...)
	for _, obj := range w.seeds {
		b.WithObjects(obj)
	}
	for _, list := range w.lists {
		b.WithLists(list)
	}
	b.WithIndex(&Trinket{}, "count", func(obj ourclient.Object) []string { return indexed(obj) })
	if w.managedFields {
		b.WithReturnManagedFields()
	}
	if w.oneCounter {
		b.WithGlobalResourceVersionCounter()
	}
	if w.deduces {
		b.WithTypeConverters(managedfields.NewDeducedTypeConverter())
	}
	if w.maps {
		b.WithRESTMapper(oddMapper())
	}
	if w.intercepts {
		b.WithInterceptorFuncs(ourinterceptor.Funcs{Create: func(ctx context.Context, c ourclient.WithWatch, obj ourclient.Object, opts ...ourclient.CreateOption) error {
			obj.SetLabels(map[string]string{"intercepted": ""})
			return c.Create(ctx, obj, opts...)
		}, SubResourceUpdate: func(context.Context, ourclient.Client, string, ourclient.Object, ...ourclient.SubResourceUpdateOption) error {
			return errIntercepted
		}})
	}
	return ourVerbs{b.Build()}
}

var background = context.Background()

func (s theirVerbs) get(key theirclient.ObjectKey, obj theirclient.Object) error {
	return s.c.Get(background, key, obj)
}

func (s ourVerbs) get(key theirclient.ObjectKey, obj theirclient.Object) error {
	return s.c.Get(background, key, obj)
}

func (s theirVerbs) list(list theirclient.ObjectList, o callOptions) error {
	return s.c.List(background, list, &theirclient.ListOptions{Namespace: o.namespace, LabelSelector: o.labels, FieldSelector: o.fields, Limit: o.limit})
}

func (s ourVerbs) list(list theirclient.ObjectList, o callOptions) error {
	return s.c.List(background, list, &ourclient.ListOptions{Namespace: o.namespace, LabelSelector: o.labels, FieldSelector: o.fields, Limit: o.limit})
}

func (s theirVerbs) watch(list theirclient.ObjectList) (watch.Interface, error) {
	return s.c.Watch(background, list)
}

func (s ourVerbs) watch(list theirclient.ObjectList) (watch.Interface, error) {
	return s.c.Watch(background, list)
}

func (s theirVerbs) create(obj theirclient.Object, o callOptions) error {
	return s.c.Create(background, obj, &theirclient.CreateOptions{DryRun: o.dryRun, FieldManager: o.manager})
}

func (s ourVerbs) create(obj theirclient.Object, o callOptions) error {
	return s.c.Create(background, obj, &ourclient.CreateOptions{DryRun: o.dryRun, FieldManager: o.manager})
}

func (s theirVerbs) update(obj theirclient.Object, o callOptions) error {
	return s.c.Update(background, obj, &theirclient.UpdateOptions{DryRun: o.dryRun, FieldManager: o.manager})
}

func (s ourVerbs) update(obj theirclient.Object, o callOptions) error {
	return s.c.Update(background, obj, &ourclient.UpdateOptions{DryRun: o.dryRun, FieldManager: o.manager})
}

func (s theirVerbs) patch(sub string, obj theirclient.Object, p aPatch, o callOptions) error {
	var patch theirclient.Patch
	switch {
	case p.from != nil && p.lock:
		patch = theirclient.MergeFromWithOptions(p.from, theirclient.MergeFromWithOptimisticLock{})
	case p.from != nil && p.kind == types.StrategicMergePatchType:
		patch = theirclient.StrategicMergeFrom(p.from)
	case p.from != nil:
		patch = theirclient.MergeFrom(p.from)
	case p.kind == types.ApplyPatchType && p.data == "":
		patch = theirclient.Apply //nolint:staticcheck // tests use it
	case p.kind != "":
		patch = theirclient.RawPatch(p.kind, []byte(p.data))
	}
	options := theirclient.PatchOptions{DryRun: o.dryRun, FieldManager: o.manager, Force: o.force}
	if sub == "" {
		return s.c.Patch(background, obj, patch, &options)
	}
	return s.c.SubResource(sub).Patch(background, obj, patch, &theirclient.SubResourcePatchOptions{PatchOptions: options, SubResourceBody: o.body})
}

func (s ourVerbs) patch(sub string, obj theirclient.Object, p aPatch, o callOptions) error {
	var patch ourclient.Patch
	switch {
	case p.from != nil && p.lock:
		patch = ourclient.MergeFromWithOptions(p.from, ourclient.MergeFromWithOptimisticLock{})
	case p.from != nil && p.kind == types.StrategicMergePatchType:
		patch = ourclient.StrategicMergeFrom(p.from)
	case p.from != nil:
		patch = ourclient.MergeFrom(p.from)
	case p.kind == types.ApplyPatchType && p.data == "":
		patch = ourclient.Apply //nolint:staticcheck // tests use it
	case p.kind != "":
		patch = ourclient.RawPatch(p.kind, []byte(p.data))
	}
	options := ourclient.PatchOptions{DryRun: o.dryRun, FieldManager: o.manager, Force: o.force}
	if sub == "" {
		return s.c.Patch(background, obj, patch, &options)
	}
	return s.c.SubResource(sub).Patch(background, obj, patch, &ourclient.SubResourcePatchOptions{PatchOptions: options, SubResourceBody: o.body})
}

func (s theirVerbs) remove(obj theirclient.Object, o callOptions) error {
	return s.c.Delete(background, obj, &theirclient.DeleteOptions{DryRun: o.dryRun, Preconditions: o.preconditions, PropagationPolicy: new(metav1.DeletePropagationForeground)})
}

func (s ourVerbs) remove(obj theirclient.Object, o callOptions) error {
	return s.c.Delete(background, obj, &ourclient.DeleteOptions{DryRun: o.dryRun, Preconditions: o.preconditions, PropagationPolicy: new(metav1.DeletePropagationForeground)})
}

func (s theirVerbs) removeAll(obj theirclient.Object, o callOptions) error {
	return s.c.DeleteAllOf(background, obj, &theirclient.DeleteAllOfOptions{ListOptions: theirclient.ListOptions{Namespace: o.namespace, LabelSelector: o.labels},
		DeleteOptions: theirclient.DeleteOptions{DryRun: o.dryRun}})
}

func (s ourVerbs) removeAll(obj theirclient.Object, o callOptions) error {
	return s.c.DeleteAllOf(background, obj, &ourclient.DeleteAllOfOptions{ListOptions: ourclient.ListOptions{Namespace: o.namespace, LabelSelector: o.labels},
		DeleteOptions: ourclient.DeleteOptions{DryRun: o.dryRun}})
}

func (s theirVerbs) apply(sub string, config any, o callOptions) error {
	applied, _ := config.(runtime.ApplyConfiguration)
	options := theirclient.ApplyOptions{DryRun: o.dryRun, Force: o.force, FieldManager: o.manager}
	if sub == "" {
		return s.c.Apply(background, applied, &options)
	}
	body, _ := o.applied.(runtime.ApplyConfiguration)
	return s.c.SubResource(sub).Apply(background, applied, &theirclient.SubResourceApplyOptions{ApplyOptions: options, SubResourceBody: body})
}

func (s ourVerbs) apply(sub string, config any, o callOptions) error {
	applied, _ := config.(runtime.ApplyConfiguration)
	options := ourclient.ApplyOptions{DryRun: o.dryRun, Force: o.force, FieldManager: o.manager}
	if sub == "" {
		return s.c.Apply(background, applied, &options)
	}
	body, _ := o.applied.(runtime.ApplyConfiguration)
	return s.c.SubResource(sub).Apply(background, applied, &ourclient.SubResourceApplyOptions{ApplyOptions: options, SubResourceBody: body})
}

func (s theirVerbs) subGet(sub string, obj, body theirclient.Object) error {
	return s.c.SubResource(sub).Get(background, obj, body)
}

func (s ourVerbs) subGet(sub string, obj, body theirclient.Object) error {
	return s.c.SubResource(sub).Get(background, obj, body)
}

func (s theirVerbs) subCreate(sub string, obj, body theirclient.Object) error {
	return s.c.SubResource(sub).Create(background, obj, body)
}

func (s ourVerbs) subCreate(sub string, obj, body theirclient.Object) error {
	return s.c.SubResource(sub).Create(background, obj, body)
}

func (s theirVerbs) subUpdate(sub string, obj theirclient.Object, o callOptions) error {
	return s.c.SubResource(sub).Update(background, obj, &theirclient.SubResourceUpdateOptions{UpdateOptions: theirclient.UpdateOptions{DryRun: o.dryRun}, SubResourceBody: o.body})
}

func (s ourVerbs) subUpdate(sub string, obj theirclient.Object, o callOptions) error {
	return s.c.SubResource(sub).Update(background, obj, &ourclient.SubResourceUpdateOptions{UpdateOptions: ourclient.UpdateOptions{DryRun: o.dryRun}, SubResourceBody: o.body})
}

func (s theirVerbs) kindFor(obj runtime.Object) (any, error) { return s.c.GroupVersionKindFor(obj) }

func (s ourVerbs) kindFor(obj runtime.Object) (any, error) { return s.c.GroupVersionKindFor(obj) }

func (s theirVerbs) isNamespaced(obj runtime.Object) (bool, error) {
	return s.c.IsObjectNamespaced(obj)
}

func (s ourVerbs) isNamespaced(obj runtime.Object) (bool, error) { return s.c.IsObjectNamespaced(obj) }

func (s theirVerbs) unstructuredConfig(u *unstructured.Unstructured) any {
	return theirclient.ApplyConfigurationFromUnstructured(u)
}

func (s ourVerbs) unstructuredConfig(u *unstructured.Unstructured) any {
	return ourclient.ApplyConfigurationFromUnstructured(u)
}

// verb is what is done with an odd object.
type verb func(c fakeSide, obj theirclient.Object, see func(sighting))

var dry = callOptions{dryRun: []string{metav1.DryRunAll}}

// oddVerbs are all verbs, with their options.
var oddVerbs = map[string]verb{
	"get": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		key := theirclient.ObjectKey{Namespace: "default", Name: "a"}
		see(call("", func() error { return c.get(key, obj) }, obj))
	},
	"create": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.create(obj, callOptions{}) }, obj))
	},
	"create dry": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.create(obj, dry) }, obj))
	},
	"create by": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.create(obj, callOptions{manager: "me"}) }, obj))
	},
	"update": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.update(obj, callOptions{}) }, obj))
	},
	"update dry": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.update(obj, dry) }, obj))
	},
	"create, read, change, update twice": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.create(obj, callOptions{}) }, obj))
		if isNil(obj) {
			return
		}
		see(call("", func() error { return c.get(theirclient.ObjectKeyFromObject(obj), obj) }, obj))
		for range 2 {
			see(call("", func() error { obj.SetLabels(map[string]string{"new": ""}); return c.update(obj, callOptions{}) }, obj))
		}
		see(call("", func() error { return c.subUpdate("status", obj, callOptions{}) }, obj))
		see(call("", func() error { obj.SetFinalizers(nil); return c.update(obj, callOptions{}) }, obj))
	},
	"delete": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.remove(obj, callOptions{}) }, obj))
	},
	"delete dry": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.remove(obj, dry) }, obj))
	},
	"delete a version": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		for _, version := range []string{"3", "999"} {
			see(call("", func() error {
				return c.remove(obj, callOptions{preconditions: &metav1.Preconditions{ResourceVersion: &version}})
			}, obj))
		}
	},
	"delete a UID": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error {
			return c.remove(obj, callOptions{preconditions: &metav1.Preconditions{UID: new(types.UID("other"))}})
		}, obj))
	},
	"delete all": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.removeAll(obj, callOptions{}) }, obj))
	},
	"delete some": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error {
			return c.removeAll(obj, callOptions{namespace: "default", labels: labels.SelectorFromSet(labels.Set{"a": "b"})})
		}, obj))
		see(call("", func() error { return c.removeAll(obj, callOptions{namespace: "other", dryRun: dry.dryRun}) }, obj))
	},
	"update the status": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.subUpdate("status", obj, callOptions{}) }, obj))
	},
	"update the status, with a body": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		body := odd("Trinket", "full maps")
		see(call("", func() error { return c.subUpdate("status", obj, callOptions{body: body}) }, obj, body))
	},
	"update another subresource": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.subUpdate("resize", obj, callOptions{}) }, obj))
	},
	"create a status": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		body := odd("Trinket", "full maps")
		see(call("", func() error { return c.subCreate("status", obj, body) }, obj, body))
	},
	"scale": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		scale, other := &autoscalingv1.Scale{}, &corev1.Pod{}
		see(call("", func() error { return c.subGet("scale", obj, scale) }, obj, scale))
		see(call("", func() error { return c.subGet("scale", obj, other) }, obj, other))
		see(call("", func() error { return c.subGet("status", obj, scale) }, obj, scale))
		see(call("", func() error { return c.subUpdate("scale", obj, callOptions{}) }, obj))
		see(call("", func() error { return c.subUpdate("scale", obj, callOptions{body: other}) }, obj))
		scale.Spec.Replicas = 5
		see(call("", func() error { return c.subUpdate("scale", obj, callOptions{body: scale}) }, obj, scale))
	},
	"evict": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.subCreate("eviction", obj, &corev1.Pod{}) }, obj))
		see(call("", func() error { return c.subCreate("eviction", obj, &policyv1.Eviction{}) }, obj))
	},
	"ask for a token": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		request := &authenticationv1.TokenRequest{}
		see(call("", func() error { return c.subCreate("token", obj, request) }, obj, request))
		see(call("", func() error { return c.subCreate("token", obj, &corev1.Pod{}) }, obj))
		account := &corev1.ServiceAccount{ObjectMeta: meta("a")}
		see(call("", func() error { return c.subCreate("token", account, request) }, account, request))
	},
	"ask what it is": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { gvk, err := c.kindFor(obj); see(sighting{Call: "kind", Of: []any{gvk}}); return err }, obj))
		see(call("", func() error {
			namespaced, err := c.isNamespaced(obj)
			see(sighting{Call: "scope", Of: []any{namespaced}})
			return err
		}, obj))
	},
	"list": func(c fakeSide, _ theirclient.Object, see func(sighting)) {
		many, none := fields.OneTermEqualSelector("count", "many"), fields.OneTermEqualSelector("other", "many")
		for _, o := range []callOptions{{namespace: "default"}, {namespace: "other"}, {labels: labels.SelectorFromSet(labels.Set{"a": "b"})}, {labels: labels.Nothing()}, {limit: 1},
			{fields: many}, {fields: none}, {fields: fields.Everything()}, {fields: fields.OneTermNotEqualSelector("count", "many")}, {fields: many, labels: labels.Everything()}} {
			list := &TrinketList{Items: []Trinket{{}}, ListMeta: metav1.ListMeta{Continue: "more", ResourceVersion: "7"}}
			see(call("", func() error { return c.list(list, o) }, list))
			plain := untyped(trinkets.WithKind("Gizmo"))
			gizmos := &unstructured.UnstructuredList{Object: plain.Object}
			see(call("", func() error { return c.list(gizmos, callOptions{namespace: o.namespace, labels: o.labels}) }, gizmos))
		}
		see(call("", func() error { return c.list(nil, callOptions{}) }))
		see(call("", func() error { return c.list((*corev1.PodList)(nil), callOptions{}) }))
	},
	"patch what was read": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		for _, p := range []aPatch{{}, {lock: true}, {kind: types.StrategicMergePatchType}} {
			see(call("", func() error {
				p.from = obj.DeepCopyObject().(theirclient.Object)
				obj.SetLabels(map[string]string{"patched": "yes"})
				obj.SetFinalizers(nil)
				return c.patch("", obj, p, callOptions{})
			}, obj))
		}
	},
	"patch with nil": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.patch("", obj, aPatch{}, callOptions{}) }, obj))
	},
	"apply it": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.patch("", obj, aPatch{kind: types.ApplyPatchType}, callOptions{manager: "me"}) }, obj))
	},
	"apply it by nobody": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.patch("", obj, aPatch{kind: types.ApplyPatchType}, callOptions{}) }, obj))
	},
	"apply it by two": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		for _, o := range []callOptions{{manager: "me"}, {manager: "you"}, {manager: "you", force: new(true)}, {manager: "me", dryRun: dry.dryRun}} {
			see(call("", func() error { return c.patch("", obj, aPatch{kind: types.ApplyPatchType}, o) }, obj))
		}
	},
	"apply its status": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error {
			return c.patch("status", obj, aPatch{kind: types.ApplyPatchType}, callOptions{manager: "me"})
		}, obj))
	},
	"apply a configuration": func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return
		}
		for _, o := range []callOptions{{manager: "me"}, {manager: "you"}, {manager: "you", force: new(true)}, {manager: "me", dryRun: dry.dryRun}, {}} {
			see(call("", func() error { return c.apply("", c.unstructuredConfig(u), o) }, u))
		}
		see(call("", func() error { return c.apply("status", c.unstructuredConfig(u), callOptions{manager: "me"}) }, u))
	},
	"apply configurations with types": func(c fakeSide, _ theirclient.Object, see func(sighting)) {
		by := callOptions{manager: "me"}
		cm := applycorev1.ConfigMap("a", "default").WithData(map[string]string{"k": "v"}).WithLabels(map[string]string{})
		see(call("", func() error { return c.apply("", cm, by) }, cm))
		see(call("", func() error { return c.apply("", applycorev1.ConfigMap("", ""), by) }))
		see(call("", func() error { return c.apply("", &applycorev1.ConfigMapApplyConfiguration{}, by) }))
		see(call("", func() error { return c.apply("", nil, by) }))
		d := applyappsv1.Deployment("a", "default").WithStatus(applyappsv1.DeploymentStatus().WithReplicas(3))
		see(call("", func() error { return c.apply("", d, by) }, d))
		see(call("", func() error {
			return c.apply("status", applyappsv1.Deployment("a", "default").WithStatus(applyappsv1.DeploymentStatus().WithReplicas(4)), by)
		}))
		scale := applyautoscalingv1.Scale().WithSpec(applyautoscalingv1.ScaleSpec().WithReplicas(6))
		config := applyappsv1.Deployment("a", "default")
		see(call("", func() error { return c.apply("scale", config, callOptions{manager: "me", applied: scale}) }, config))
		see(call("", func() error { return c.apply("scale", config, by) }, config))
		see(call("", func() error { return c.apply("other", config, by) }, config))
		see(call("", func() error {
			return c.get(theirclient.ObjectKey{Namespace: "default", Name: "a"}, &appsv1.Deployment{})
		}))
	},
}

// oddPatches are tried on each object.
var oddPatches = map[string]aPatch{
	"nothing":               {kind: types.MergePatchType, data: `{}`},
	"a label":               {kind: types.MergePatchType, data: `{"metadata":{"labels":{"x":"y"}}}`},
	"no labels":             {kind: types.MergePatchType, data: `{"metadata":{"labels":null,"annotations":{}}}`},
	"no finalizers":         {kind: types.MergePatchType, data: `{"metadata":{"finalizers":null}}`},
	"the name":              {kind: types.MergePatchType, data: `{"metadata":{"name":"b"}}`},
	"the namespace":         {kind: types.MergePatchType, data: `{"metadata":{"namespace":"other"}}`},
	"no version":            {kind: types.MergePatchType, data: `{"metadata":{"resourceVersion":null}}`},
	"another version":       {kind: types.MergePatchType, data: `{"metadata":{"resourceVersion":"7"}}`},
	"a deletionTimestamp":   {kind: types.MergePatchType, data: `{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`},
	"no deletionTimestamp":  {kind: types.MergePatchType, data: `{"metadata":{"deletionTimestamp":null}}`},
	"the kind":              {kind: types.MergePatchType, data: `{"kind":"Other"}`},
	"the status":            {kind: types.MergePatchType, data: `{"status":{"ready":true,"phase":"Failed","replicas":4},"spec":{"count":3,"paused":true}}`},
	"empty content":         {kind: types.MergePatchType, data: `{"data":{},"spec":{"map":{},"pointer":{},"list":[]}}`},
	"what's no JSON":        {kind: types.MergePatchType, data: `{`},
	"a JSON list":           {kind: types.MergePatchType, data: `[]`},
	"the wrong type":        {kind: types.MergePatchType, data: `{"metadata":{"labels":"none"}}`},
	"JSON: a label":         {kind: types.JSONPatchType, data: `[{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]`},
	"JSON: nothing":         {kind: types.JSONPatchType, data: `[]`},
	"JSON: a test":          {kind: types.JSONPatchType, data: `[{"op":"test","path":"/metadata/name","value":"z"}]`},
	"JSON: nowhere":         {kind: types.JSONPatchType, data: `[{"op":"remove","path":"/spec/none"}]`},
	"JSON: finalizers":      {kind: types.JSONPatchType, data: `[{"op":"remove","path":"/metadata/finalizers"}]`},
	"JSON: no JSON":         {kind: types.JSONPatchType, data: `{}`},
	"strategic: a label":    {kind: types.StrategicMergePatchType, data: `{"metadata":{"labels":{"x":"y"}}}`},
	"strategic: finalizers": {kind: types.StrategicMergePatchType, data: `{"metadata":{"$deleteFromPrimitiveList/finalizers":["hold"]}}`},
	"strategic: content":    {kind: types.StrategicMergePatchType, data: `{"spec":{"containers":[{"name":"main","image":"x"}],"list":["z"]},"data":{"k":null}}`},
	"strategic: no JSON":    {kind: types.StrategicMergePatchType, data: `{`},
	"apply: YAML":           {kind: types.ApplyPatchType, data: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  y: z\n"},
	"apply: no kind":        {kind: types.ApplyPatchType, data: `{"metadata":{"name":"a"}}`},
	"apply: no YAML":        {kind: types.ApplyPatchType, data: `{`},
	"CBOR":                  {kind: types.ApplyCBORPatchType, data: `{}`},
	"another type":          {kind: "text/plain", data: `{}`},
}

func init() {
	for name, p := range oddPatches {
		o := callOptions{}
		if p.kind == types.ApplyPatchType || p.kind == types.ApplyCBORPatchType {
			o.manager = "me"
		}
		for _, sub := range []string{"", "status", "scale"} {
			oddVerbs["patch "+name+" "+sub] = func(c fakeSide, obj theirclient.Object, see func(sighting)) {
				see(call("", func() error { return c.patch(sub, obj, p, o) }, obj))
			}
		}
	}
	oddVerbs["patch dry"] = func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.patch("", obj, oddPatches["a label"], dry) }, obj))
	}
	oddVerbs["patch with force"] = func(c fakeSide, obj theirclient.Object, see func(sighting)) {
		see(call("", func() error { return c.patch("", obj, oddPatches["a label"], callOptions{force: new(true)}) }, obj))
	}
}
