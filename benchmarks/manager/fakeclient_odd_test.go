package manager_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// The two fake clients are played side by side, with odd objects through all verbs: what a caller
// can see has to be the same, down to whether a map is nil or empty.

var trinkets = schema.GroupVersion{Group: "shop.example", Version: "v1"}

// Trinket is a custom resource whose fields show what has been through JSON, and what hasn't.
type Trinket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TrinketSpec   `json:"spec"`
	Status            TrinketStatus `json:"status,omitempty"`
}

// TrinketSpec has a field of each form.
type TrinketSpec struct {
	Map     map[string]string  `json:"map"`
	Omitted map[string]string  `json:"omitted,omitempty"`
	List    []string           `json:"list"`
	Pointer *map[string]string `json:"pointer,omitempty"`
	Count   int64              `json:"count"`
	hidden  string
}

// TrinketStatus is what there is.
type TrinketStatus struct {
	Ready bool              `json:"ready,omitempty"`
	Seen  map[string]string `json:"seen"`
}

// DeepCopyObject implements runtime.Object.
func (t *Trinket) DeepCopyObject() runtime.Object {
	out := *t
	out.ObjectMeta = *t.ObjectMeta.DeepCopy()
	out.Spec.Map, out.Spec.Omitted = maps.Clone(t.Spec.Map), maps.Clone(t.Spec.Omitted)
	out.Spec.List, out.Status.Seen = slices.Clone(t.Spec.List), maps.Clone(t.Status.Seen)
	if t.Spec.Pointer != nil {
		out.Spec.Pointer = new(maps.Clone(*t.Spec.Pointer))
	}
	return &out
}

// TrinketList is a list of trinkets.
type TrinketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Trinket `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *TrinketList) DeepCopyObject() runtime.Object {
	out := &TrinketList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Trinket))
	}
	return out
}

// Bauble is a trinket whose status is part of it.
type Bauble struct{ Trinket }

// DeepCopyObject implements runtime.Object.
func (b *Bauble) DeepCopyObject() runtime.Object {
	return &Bauble{*b.Trinket.DeepCopyObject().(*Trinket)}
}

// oddScheme is small: the original makes a mapper of all of it for each write.
func oddScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(trinkets, &Trinket{}, &TrinketList{}, &Bauble{}) // of baubles there is no list
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Pod{}, &corev1.PodList{}, &corev1.Service{}, &corev1.ServiceList{},
		&corev1.Node{}, &corev1.NodeList{}, &corev1.ServiceAccount{}, &corev1.ServiceAccountList{})
	s.AddKnownTypes(appsv1.SchemeGroupVersion, &appsv1.Deployment{}, &appsv1.DeploymentList{})
	s.AddKnownTypes(storagev1.SchemeGroupVersion, &storagev1.StorageClass{}, &storagev1.StorageClassList{})
	s.AddKnownTypes(policyv1.SchemeGroupVersion, &policyv1.Eviction{})
	for _, gv := range []schema.GroupVersion{trinkets, corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, storagev1.SchemeGroupVersion} {
		metav1.AddToGroupVersion(s, gv)
	}
	return s
}

func untyped(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{}
	p.SetGroupVersionKind(gvk)
	return p
}

// oddForms are empty objects of all kinds, in each form.
var oddForms = map[string]func() theirclient.Object{
	"ConfigMap":    func() theirclient.Object { return &corev1.ConfigMap{} },
	"Pod":          func() theirclient.Object { return &corev1.Pod{} },
	"Service":      func() theirclient.Object { return &corev1.Service{} },
	"Node":         func() theirclient.Object { return &corev1.Node{} },
	"Deployment":   func() theirclient.Object { return &appsv1.Deployment{} },
	"StorageClass": func() theirclient.Object { return &storagev1.StorageClass{} },
	"Trinket":      func() theirclient.Object { return &Trinket{} },
	"Bauble":       func() theirclient.Object { return &Bauble{} },
	"Trinket with its kind": func() theirclient.Object {
		return &Trinket{TypeMeta: metav1.TypeMeta{APIVersion: "shop.example/v1", Kind: "Trinket"}}
	},
	"ConfigMap with another kind": func() theirclient.Object {
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
	},
	"unstructured ConfigMap":    func() theirclient.Object { return untyped(corev1.SchemeGroupVersion.WithKind("ConfigMap")) },
	"unstructured Deployment":   func() theirclient.Object { return untyped(appsv1.SchemeGroupVersion.WithKind("Deployment")) },
	"unstructured Trinket":      func() theirclient.Object { return untyped(trinkets.WithKind("Trinket")) },
	"unstructured Gizmo":        func() theirclient.Object { return untyped(trinkets.WithKind("Gizmo")) },
	"unstructured of no kind":   func() theirclient.Object { return &unstructured.Unstructured{Object: map[string]any{}} },
	"unstructured and nil":      func() theirclient.Object { return &unstructured.Unstructured{} },
	"metadata of a ConfigMap":   func() theirclient.Object { return metadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap")) },
	"metadata of a Trinket":     func() theirclient.Object { return metadataOf(trinkets.WithKind("Trinket")) },
	"metadata of a Gizmo":       func() theirclient.Object { return metadataOf(trinkets.WithKind("Gizmo")) },
	"metadata of no kind":       func() theirclient.Object { return &metav1.PartialObjectMetadata{} },
	"a kind of no scheme":       func() theirclient.Object { return &policyv1.PodDisruptionBudget{} },
	"an object without a store": func() theirclient.Object { return &policyv1.Eviction{} },
	"nil":                       func() theirclient.Object { return nil },
	"a nil pointer":             func() theirclient.Object { return (*corev1.Pod)(nil) },
}

// oddities are what a test may do to an object that has a name and a namespace.
var oddities = map[string]func(theirclient.Object){
	"as usual":         func(theirclient.Object) {},
	"no name":          func(o theirclient.Object) { o.SetName("") },
	"no namespace":     func(o theirclient.Object) { o.SetNamespace("") },
	"nothing":          func(o theirclient.Object) { o.SetName(""); o.SetNamespace("") },
	"an odd name":      func(o theirclient.Object) { o.SetName("No/Name %!") },
	"a generated name": func(o theirclient.Object) { o.SetName(""); o.SetGenerateName("made-") },
	"a long one":       func(o theirclient.Object) { o.SetName(""); o.SetGenerateName("made-" + strings.Repeat("x", 80)) },
	"both names":       func(o theirclient.Object) { o.SetGenerateName("made-") },
	"empty maps": func(o theirclient.Object) {
		o.SetLabels(map[string]string{})
		o.SetAnnotations(map[string]string{})
		o.SetFinalizers([]string{})
		o.SetOwnerReferences([]metav1.OwnerReference{})
		switch o := o.(type) {
		case *corev1.ConfigMap:
			o.Data, o.BinaryData = map[string]string{}, map[string][]byte{}
		case *corev1.Pod:
			o.Spec.Containers, o.Spec.NodeSelector = []corev1.Container{}, map[string]string{}
		case *Trinket:
			o.Spec = TrinketSpec{Map: map[string]string{}, Omitted: map[string]string{}, List: []string{}, Pointer: &map[string]string{}, hidden: "h"}
			o.Status.Seen = map[string]string{}
		case *unstructured.Unstructured:
			o.Object["spec"] = map[string]any{"empty": map[string]any{}, "none": nil, "list": []any{}}
			o.Object["data"] = map[string]any{}
		}
	},
	"a pointer to nil": func(o theirclient.Object) {
		if t, ok := o.(*Trinket); ok {
			t.Spec.Pointer = new(map[string]string)
		}
	},
	"full maps": func(o theirclient.Object) {
		o.SetLabels(map[string]string{"a": "b"})
		o.SetAnnotations(map[string]string{"c": "d"})
		switch o := o.(type) {
		case *corev1.ConfigMap:
			o.Data, o.BinaryData = map[string]string{"k": "v"}, map[string][]byte{"b": {1}, "e": {}}
		case *corev1.Pod:
			o.Spec.Containers, o.Status.Phase = []corev1.Container{{Name: "main", Env: []corev1.EnvVar{}}}, corev1.PodRunning
		case *appsv1.Deployment:
			o.Spec.Replicas, o.Status.Replicas = new(int32(2)), 2
			o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		case *Trinket:
			o.Spec = TrinketSpec{Map: map[string]string{"k": ""}, List: []string{"x", ""}, Count: 1 << 60, hidden: "h"}
			o.Status = TrinketStatus{Ready: true, Seen: map[string]string{}}
		case *unstructured.Unstructured:
			o.Object["spec"] = map[string]any{"count": int64(1), "ratio": 0.5, "whole": float64(3), "list": []any{"x", int64(2)}}
			o.Object["status"] = map[string]any{"ready": true}
		}
	},
	"content of no JSON": func(o theirclient.Object) {
		if u, ok := o.(*unstructured.Unstructured); ok && u.Object != nil {
			u.Object["spec"] = "text"
			u.Object["extra"] = nil
		}
	},
	"labels that are none":      func(o theirclient.Object) { o.SetLabels(map[string]string{"no label": "*", "": ""}) },
	"a version of nothing":      func(o theirclient.Object) { o.SetResourceVersion("0") },
	"version 1":                 func(o theirclient.Object) { o.SetResourceVersion("1") },
	"version 999":               func(o theirclient.Object) { o.SetResourceVersion("999") },
	"a version that's a word":   func(o theirclient.Object) { o.SetResourceVersion("new") },
	"a UID":                     func(o theirclient.Object) { o.SetUID("mine") },
	"a generation":              func(o theirclient.Object) { o.SetGeneration(7) },
	"a creationTimestamp":       func(o theirclient.Object) { o.SetCreationTimestamp(metav1.Unix(1_500_000_000, 0)) },
	"a selfLink":                func(o theirclient.Object) { o.SetSelfLink("/self") },
	"a finalizer":               func(o theirclient.Object) { o.SetFinalizers([]string{"hold"}) },
	"a deletionTimestamp":       func(o theirclient.Object) { o.SetDeletionTimestamp(new(metav1.Unix(1_500_000_000, 0))) },
	"a precise one":             func(o theirclient.Object) { o.SetDeletionTimestamp(new(metav1.NewTime(time.Unix(1_500_000_000, 5)))) },
	"a zero one":                func(o theirclient.Object) { o.SetDeletionTimestamp(&metav1.Time{}) },
	"a period of grace":         func(o theirclient.Object) { o.SetDeletionGracePeriodSeconds(new(int64(0))) },
	"an owner without a UID":    func(o theirclient.Object) { o.SetOwnerReferences([]metav1.OwnerReference{{Name: "o", Kind: "K"}}) },
	"managedFields, none":       func(o theirclient.Object) { o.SetManagedFields([]metav1.ManagedFieldsEntry{}) },
	"managedFields, wrong":      func(o theirclient.Object) { o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "x"}}) },
	"managedFields of somebody": func(o theirclient.Object) { o.SetManagedFields(somebodysFields()) },
	"a finalizer and a deletionTimestamp": func(o theirclient.Object) {
		o.SetFinalizers([]string{"hold"})
		o.SetDeletionTimestamp(new(metav1.Unix(1_500_000_000, 0)))
	},
}

func somebodysFields() []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Manager: "somebody", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		Time: new(metav1.Unix(1_500_000_000, 0)), FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{"f:a":{}}}}`)}}}
}

// odd makes an object. What is nil can't be made odd.
func odd(form, oddity string) (obj theirclient.Object) {
	obj = oddForms[form]()
	if obj == nil || strings.Contains(form, "nil") {
		return obj
	}
	obj.SetNamespace("default")
	obj.SetName("a")
	oddities[oddity](obj)
	return obj
}

// sighting is all that a caller sees of a call.
type sighting struct {
	Call   string
	Err    string
	Status *metav1.Status
	Panics bool
	Of     []any // the objects, as they are afterwards
}

// call makes a call, and notes what is to be seen.
func call(name string, f func() error, of ...any) (out sighting) {
	out = sighting{Call: name}
	defer func() {
		if p := recover(); p != nil {
			out.Panics, out.Err = true, fmt.Sprint(p)
		}
		for _, obj := range of {
			out.Of = append(out.Of, snapshot(obj))
		}
	}()
	err := f()
	if err == nil {
		return out
	}
	out.Err = "an error"
	for what, is := range map[string]func(error) bool{"an unregistered kind": runtime.IsNotRegisteredError, "an unmapped kind": apimeta.IsNoMatchError,
		"no kind": runtime.IsMissingKind, "no version": runtime.IsMissingVersion} {
		if is(err) {
			out.Err = what
		}
	}
	if status, ok := err.(apierrors.APIStatus); ok {
		out.Status = new(status.Status())
	}
	return out
}

func snapshot(obj any) any {
	if o, ok := obj.(runtime.Object); ok && !isNil(o) {
		return o.DeepCopyObject()
	}
	return obj
}

func isNil(obj runtime.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return obj == nil || ok && pod == nil
}

// program is a part of a test: it's played on both sides, in a world of its own.
type program struct {
	name   string
	seeds  [][2]string // forms and oddities
	builds func(*world)
	steps  []step

	builderOptions
}

// world is what the builder of a client is told.
type world struct {
	scheme *runtime.Scheme
	seeds  []theirclient.Object
	lists  []theirclient.ObjectList
	others []runtime.Object
	builderOptions
}

type builderOptions struct {
	managedFields bool
	oneCounter    bool
	deduces       bool // all schemas, those of Kubernetes, too
	maps          bool // has a RESTMapper
	intercepts    bool
}

func someOptions(random *rand.Rand) (o builderOptions) {
	for _, option := range []*bool{&o.managedFields, &o.oneCounter, &o.deduces, &o.maps, &o.intercepts} {
		*option = random.IntN(5) == 0
	}
	return o
}

// oddBuilds are what else a builder may be given.
func oddBuilds() map[string]func(*world) {
	cm := func(name string) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: meta(name)} }
	return map[string]func(*world){
		"nothing":        func(*world) {},
		"no name":        func(w *world) { w.seeds = []theirclient.Object{cm("")} },
		"no name, twice": func(w *world) { w.seeds = []theirclient.Object{cm(""), cm("")} },
		"the same twice": func(w *world) { w.seeds = []theirclient.Object{cm("a"), cm("a")} },
		"a list": func(w *world) {
			w.lists = []theirclient.ObjectList{&corev1.ConfigMapList{Items: []corev1.ConfigMap{*cm("a"), *cm("b")}}}
		},
		"an empty list":   func(w *world) { w.lists = []theirclient.ObjectList{&corev1.ConfigMapList{}} },
		"an untyped list": func(w *world) { w.lists = []theirclient.ObjectList{untypedListOf(aGizmo("a"), aGizmo("b"))} },
		"a list of metadata": func(w *world) {
			w.lists = []theirclient.ObjectList{&metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{*metadataOf(trinkets.WithKind("Gizmo"))}}}
		},
		"a list in a list": func(w *world) {
			w.others = []runtime.Object{&corev1.List{Items: []runtime.RawExtension{{Object: cm("a")}}}}
		},
		"lists as objects": func(w *world) {
			w.others = []runtime.Object{&corev1.PodList{Items: []corev1.Pod{{ObjectMeta: meta("p")}}}, cm("a")}
		},
		"all ways, in order": func(w *world) {
			w.others, w.lists, w.seeds = []runtime.Object{cm("a")}, []theirclient.ObjectList{&corev1.ConfigMapList{Items: []corev1.ConfigMap{*cm("b")}}}, []theirclient.Object{cm("c")}
		},
		"no object":    func(w *world) { w.others = []runtime.Object{&metav1.Status{}} },
		"of no scheme": func(w *world) { w.others = []runtime.Object{&policyv1.PodDisruptionBudget{ObjectMeta: meta("a")}} },
		"nil":          func(w *world) { w.others = []runtime.Object{nil} },
		"a nil list":   func(w *world) { w.lists = []theirclient.ObjectList{nil} },
		"a list with an item of no kind": func(w *world) {
			w.lists = []theirclient.ObjectList{untypedListOf(&unstructured.Unstructured{Object: map[string]any{}})}
		},
	}
}

func untypedListOf(items ...*unstructured.Unstructured) *unstructured.UnstructuredList {
	list := untypedList("Gizmo")
	for _, item := range items {
		list.Items = append(list.Items, *item)
	}
	return list
}

func TestTheFakeClientsAreBuiltOfTheSameOddObjects(t *testing.T) {
	for name, build := range oddBuilds() {
		for _, oneCounter := range []bool{false, true} {
			compare(t, program{name: name, builds: build, builderOptions: builderOptions{oneCounter: oneCounter}})
		}
	}
	for _, form := range slices.Sorted(maps.Keys(oddForms)) {
		for _, oddity := range slices.Sorted(maps.Keys(oddities)) {
			compare(t, program{name: form + ", " + oddity, seeds: [][2]string{{form, oddity}}})
		}
	}
}

// step is a call.
type step struct {
	name string
	do   func(c fakeSide, obj theirclient.Object, see func(sighting))
	form [2]string
}

// perform plays a program, and returns all that there is to see.
func perform(p program, build func(world) fakeSide) (all []sighting) {
	w := world{scheme: oddScheme(), builderOptions: p.builderOptions}
	for _, seed := range p.seeds {
		w.seeds = append(w.seeds, odd(seed[0], seed[1]))
	}
	if p.builds != nil {
		p.builds(&w)
	}
	see := func(s sighting) { all = append(all, s) }
	var c fakeSide
	see(call("build", func() error { c = build(w); return nil }, any(w.seeds), w.lists, w.others))
	if c == nil {
		return all
	}
	var watches []watch.Interface
	for _, list := range []theirclient.ObjectList{&corev1.ConfigMapList{}, &TrinketList{}, untypedList("Gizmo")} {
		see(call("watch", func() error {
			w, err := c.watch(list)
			if err == nil {
				watches = append(watches, w)
			}
			return err
		}, list))
	}
	for _, s := range p.steps {
		s.do(c, odd(s.form[0], s.form[1]), func(out sighting) {
			out.Call = s.name + " of " + s.form[0] + ", " + s.form[1]
			see(out)
		})
	}
	for _, w := range watches {
		w.Stop()
		for e := range w.ResultChan() {
			see(sighting{Call: "an event", Of: []any{e}})
		}
	}
	lookAround(c, see)
	return all
}

func untypedList(kind string) *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	u.SetGroupVersionKind(trinkets.WithKind(kind + "List"))
	return u
}

// lookAround reads everything in every form.
func lookAround(c fakeSide, see func(sighting)) {
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(trinkets.WithKind("TrinketList"))
	gizmos := &metav1.PartialObjectMetadataList{}
	gizmos.SetGroupVersionKind(trinkets.WithKind("GizmoList"))
	for _, list := range []theirclient.ObjectList{&corev1.ConfigMapList{}, &corev1.PodList{}, &corev1.ServiceList{}, &corev1.NodeList{}, &appsv1.DeploymentList{},
		&storagev1.StorageClassList{}, &TrinketList{}, untypedList("Trinket"), metadata, untypedList("Gizmo"), gizmos} {
		see(call("list", func() error { return c.list(list, callOptions{}) }, list))
	}
	for _, form := range slices.Sorted(maps.Keys(oddForms)) {
		for _, oddity := range []string{"as usual", "nothing"} {
			obj := odd(form, oddity)
			key := theirclient.ObjectKey{}
			if !isNil(obj) {
				key = theirclient.ObjectKeyFromObject(obj)
			}
			see(call("get a "+form, func() error { return c.get(key, obj) }, obj))
		}
	}
}

// sameTime compares the places, too: equal times need not be the same to a test.
func sameTime(a, b *metav1.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b) && a.Location() == b.Location()
}

// sameText forgives what's random in a name.
func sameText(a, b string) bool {
	return a == b || generated.ReplaceAllString(a, "$1") == generated.ReplaceAllString(b, "$1")
}

var generated = regexp.MustCompile(`(made-(?:x{53})?)[a-z0-9]{5}\b`)

var theSame = []cmp.Option{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(sameTime), cmp.Comparer(sameText),
	cmp.Comparer(func(a, b metav1.Time) bool { return sameTime(&a, &b) }),
}

// atTheSameTime performs a program in a bubble, where clocks stand still: managedFields are sorted by their time. It's no whole
// second, so that it shows who cuts it off.
func atTheSameTime(t *testing.T, p program, build func(world) fakeSide) (all []sighting) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Second / 3)
		all = perform(p, build)
	})
	return all
}

// compare plays a program on both sides.
func compare(t *testing.T, p program) {
	t.Helper()
	theirs, ours := atTheSameTime(t, p, theirFake), atTheSameTime(t, p, ourFake)
	for i, want := range theirs {
		if i == len(ours) {
			t.Fatalf("%s: ours ends before step %d, %s", p.name, i, want.Call)
		}
		if got := ours[i]; want.Panics {
			require.NotEmpty(t, got.Err, "%s: theirs panics, so ours has to panic, or to return an error", want.Call)
			continue
		}
		if diff := cmp.Diff(want, ours[i], theSame...); diff != "" {
			t.Fatalf("%s, step %d, %s:\n(- theirs, + ours)\n%s", p.name, i, want.Call, diff)
		}
	}
	require.Equal(t, len(theirs), len(ours), "%s: ours goes on", p.name)
}

// Each verb has its worlds, which are drawn at random and are the same each time. ODD_SEED draws others, and ODD_WORLDS
// that many times more.
func TestTheFakeClientsDoTheSameToOddObjects(t *testing.T) {
	forms, odds := slices.Sorted(maps.Keys(oddForms)), slices.Sorted(maps.Keys(oddities))
	random := rand.New(rand.NewPCG(uint64(fromEnv("ODD_SEED", 1)), 0))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	states := []string{"", "as usual", "full maps", "a finalizer", "a finalizer and a deletionTimestamp"}
	for _, verb := range slices.Sorted(maps.Keys(oddVerbs)) {
		t.Run(verb, func(t *testing.T) {
			for range 12 * fromEnv("ODD_WORLDS", 1) {
				form, state := pick(forms), pick(states)
				p := program{name: fmt.Sprintf("there is %q", state), steps: []step{{verb, oddVerbs[verb], [2]string{form, pick(odds)}}}}
				if state != "" {
					p.seeds = [][2]string{{form, state}}
				}
				p.builderOptions = someOptions(random)
				compare(t, p)
			}
		})
	}
}

func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func TestTheFakeClientsDoTheSameInLongStories(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(fromEnv("ODD_SEED", 1)), 1))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	forms, odds, verbs := slices.Sorted(maps.Keys(oddForms)), slices.Sorted(maps.Keys(oddities)), slices.Sorted(maps.Keys(oddVerbs))
	for range 40 * fromEnv("ODD_WORLDS", 1) {
		p := program{name: "a long story", builderOptions: someOptions(random)}
		for range 20 {
			verb := pick(verbs)
			p.steps = append(p.steps, step{verb, oddVerbs[verb], [2]string{pick(forms), pick(odds)}})
		}
		compare(t, p)
	}
}
