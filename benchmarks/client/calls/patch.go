package calls

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

// withField sets a field of an unstructured object.
func withField(object wire.Object, name string, value any) {
	object.(*unstructured.Unstructured).Object[name] = value
}

func (s *side) patches() {
	// change makes an object, and hands out two copies in one form: as it was, and to be changed.
	change := func(name string, do func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption)) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			made := config(t, "")
			t.Make(made)
			before, after := wire.As(form, made), wire.As(form, made)
			after.SetAnnotations(map[string]string{"patched": "yes"})
			patch, options := do(t, before, after)
			t.Show(after)
			return s.c.Patch(t.Ctx, after, patch, options...)
		})
	}
	change("a merge patch of what differs", func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		return client.MergeFrom(before), nil
	})
	change("a merge patch of nothing", func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		after.SetAnnotations(nil)
		return client.MergeFrom(before), nil
	})
	change("a merge patch of this version", func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), nil
	})
	change("a merge patch of an old version", func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		t.Change(config(t, ""))
		return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), nil
	})
	change("a strategic patch of what differs", func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		return client.StrategicMergeFrom(before), nil
	})
	change("a strategic patch of this version", func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		return client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{}), nil
	})
	change("the whole object as a merge patch", func(t *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		return client.Merge, nil
	})
	change("a raw merge patch", func(*wire.Take, wire.Object, wire.Object) (client.Patch, []client.PatchOption) {
		return client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":null,"other":"x"}}`)), nil
	})
	change("a raw strategic patch", func(*wire.Take, wire.Object, wire.Object) (client.Patch, []client.PatchOption) {
		return client.RawPatch(types.StrategicMergePatchType, []byte(`{"data":{"$patch":"replace","other":"x"}}`)), nil
	})
	change("a JSON patch", func(*wire.Take, wire.Object, wire.Object) (client.Patch, []client.PatchOption) {
		return client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/data/key","value":"x"}]`)), nil
	})
	change("a JSON patch that does not fit", func(*wire.Take, wire.Object, wire.Object) (client.Patch, []client.PatchOption) {
		return client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/data/key","value":"another"}]`)), nil
	})
	change("with all options", func(_ *wire.Take, before, _ wire.Object) (client.Patch, []client.PatchOption) {
		return client.MergeFrom(before), []client.PatchOption{client.DryRunAll, client.FieldOwner("somebody"), client.FieldValidation("Strict")}
	})
	change("with options as a struct", func(_ *wire.Take, before, _ wire.Object) (client.Patch, []client.PatchOption) {
		return client.MergeFrom(before), []client.PatchOption{&client.PatchOptions{FieldManager: "somebody", Raw: &metav1.PatchOptions{FieldValidation: "Warn"}}}
	})
	change("what does not exist", func(_ *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		after.SetName(after.GetName() + "-none")
		return client.RawPatch(types.MergePatchType, []byte(`{}`)), nil
	})
	change("without a name", func(_ *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		after.SetName("")
		return client.RawPatch(types.MergePatchType, []byte(`{}`)), nil
	})
	change("without a namespace", func(_ *wire.Take, before, after wire.Object) (client.Patch, []client.PatchOption) {
		after.SetNamespace("")
		return client.RawPatch(types.MergePatchType, []byte(`{}`)), nil
	})
	change("with force, which is for apply only", func(_ *wire.Take, before, _ wire.Object) (client.Patch, []client.PatchOption) {
		return client.MergeFrom(before), []client.PatchOption{client.ForceOwnership}
	})

	apply := func(name string, prepare func(t *wire.Take), options ...client.PatchOption) {
		s.forms("apply: "+name, func(t *wire.Take, form wire.Form) error {
			object := config(t, "")
			object.APIVersion, object.Kind = "v1", "ConfigMap"
			if prepare != nil {
				prepare(t)
			}
			given := wire.As(form, object)
			t.Show(given)
			return s.c.Patch(t.Ctx, given, client.Apply, options...)
		})
	}
	apply("a new object", nil, client.FieldOwner("somebody"))
	apply("what exists", func(t *wire.Take) { t.Make(config(t, "")) }, client.FieldOwner("somebody"), client.ForceOwnership)
	apply("a conflict", func(t *wire.Take) {
		t.Make(config(t, ""))
		t.Mutate(config(t, ""), `{"data":{"key":"theirs"}}`)
	}, client.FieldOwner("somebody"))
	apply("without an owner", nil)
	apply("a dry run", nil, client.FieldOwner("somebody"), client.DryRunAll)

	s.forms("a custom object", func(t *wire.Take, form wire.Form) error {
		made := widget(t, "")
		t.Make(made)
		before, after := wire.As(form, made), wire.As(form, made)
		after.SetLabels(map[string]string{"a": "b"})
		t.Show(after)
		return s.c.Patch(t.Ctx, after, client.MergeFrom(before))
	})
	s.call("a custom object strategically, which no server does", func(t *wire.Take) error {
		made := widget(t, "")
		t.Make(made)
		before := made.DeepCopyObject().(*wire.Widget)
		made.Spec.Color = "blue"
		return s.c.Patch(t.Ctx, made, client.StrategicMergeFrom(before))
	})
	s.call("a container strategically", func(t *wire.Take) error {
		made := deployment(t)
		t.Make(made)
		before := made.DeepCopy()
		made.Spec.Template.Spec.Containers[0].Image = "example.com/other"
		made.Spec.Template.Spec.Containers = append(made.Spec.Template.Spec.Containers, corev1.Container{Name: "second", Image: "example.com/second"})
		t.Show(made)
		return s.c.Patch(t.Ctx, made, client.StrategicMergeFrom(before))
	})
	s.call("that is not JSON", func(t *wire.Take) error {
		made := config(t, "")
		t.Make(made)
		return s.c.Patch(t.Ctx, made, client.RawPatch(types.MergePatchType, []byte(`{`)))
	})
	s.call("of a type that does not exist", func(t *wire.Take) error {
		made := config(t, "")
		t.Make(made)
		return s.c.Patch(t.Ctx, made, client.RawPatch("application/nonsense", []byte(`{}`)))
	})
	s.call("what is forbidden", func(t *wire.Take) error {
		return s.forbidden.Patch(t.Ctx, config(t, ""), client.RawPatch(types.MergePatchType, []byte(`{}`)))
	})
}

func (s *side) applies() {
	configuration := func(t *wire.Take) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap(t.Name, t.Namespace).WithLabels(t.Labels()).WithData(map[string]string{"key": "applied"})
	}
	apply := func(name string, prepare func(t *wire.Take), options ...client.ApplyOption) {
		s.call(name, func(t *wire.Take) error {
			if prepare != nil {
				prepare(t)
			}
			given := configuration(t)
			t.Show(given)
			return s.c.Apply(t.Ctx, given, options...)
		})
		s.call(name+", unstructured", func(t *wire.Take) error {
			if prepare != nil {
				prepare(t)
			}
			object := config(t, "")
			object.Data["key"] = "applied"
			u := wire.As(wire.Unstructured, object).(*unstructured.Unstructured)
			unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
			t.Show(u)
			return s.c.Apply(t.Ctx, client.ApplyConfigurationFromUnstructured(u), options...)
		})
	}
	made := func(t *wire.Take) { t.Make(config(t, "")) }
	apply("a new object", nil, client.FieldOwner("somebody"))
	apply("what exists", made, client.FieldOwner("somebody"), client.ForceOwnership)
	apply("a conflict", made, client.FieldOwner("somebody"))
	apply("a dry run", nil, client.FieldOwner("somebody"), client.DryRunAll)
	apply("without an owner", nil)
	apply("with options as a struct", made, &client.ApplyOptions{FieldManager: "somebody", Force: new(true), DryRun: []string{metav1.DryRunAll}})
	s.call("after an unstructured read", func(t *wire.Take) error {
		if err := s.c.Get(t.Ctx, t.Key(), wire.Blank(wire.Unstructured, config(t, ""))); client.IgnoreNotFound(err) != nil {
			return err
		}
		return s.c.Apply(t.Ctx, configuration(t), client.FieldOwner("somebody"))
	})
	s.call("without a name", func(t *wire.Take) error {
		return s.c.Apply(t.Ctx, corev1ac.ConfigMap("", t.Namespace), client.FieldOwner("somebody"))
	})
	s.call("without a namespace", func(t *wire.Take) error {
		return s.c.Apply(t.Ctx, corev1ac.ConfigMap(t.Name, ""), client.FieldOwner("somebody"))
	})
	s.call("without a namespace, unstructured", func(t *wire.Take) error {
		given := &unstructured.Unstructured{}
		given.SetAPIVersion("v1")
		given.SetKind("ConfigMap")
		given.SetName(t.Name)
		return s.c.Apply(t.Ctx, client.ApplyConfigurationFromUnstructured(given), client.FieldOwner("somebody"))
	})
	s.call("what is forbidden", func(t *wire.Take) error {
		return s.forbidden.Apply(t.Ctx, configuration(t), client.FieldOwner("somebody"))
	})
}
