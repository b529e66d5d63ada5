package calls

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

func (s *side) creates() {
	create := func(name string, change func(t *wire.Take, o wire.Object), options ...client.CreateOption) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			object := config(t, "")
			if change != nil {
				change(t, object)
			}
			given := wire.As(form, object)
			t.Show(given)
			return s.c.Create(t.Ctx, given, options...)
		})
	}
	create("a ConfigMap", nil)
	create("a dry run", nil, client.DryRunAll)
	create("with an owner of its fields", nil, client.FieldOwner("somebody"))
	create("with options as a struct", nil, &client.CreateOptions{FieldManager: "somebody", FieldValidation: "Warn", Raw: &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}})
	create("with a name that the server makes", func(t *wire.Take, o wire.Object) {
		o.SetGenerateName(t.Name + "-generated-")
		o.SetName("")
	})
	create("what exists", func(t *wire.Take, _ wire.Object) { t.Make(config(t, "")) })
	create("with a name that is not valid", func(t *wire.Take, o wire.Object) { o.SetName("Not Valid") })
	create("without a namespace", func(t *wire.Take, o wire.Object) { o.SetNamespace("") })
	create("in a namespace that does not exist", func(t *wire.Take, o wire.Object) { o.SetNamespace("nowhere") })
	create("with a version", func(t *wire.Take, o wire.Object) { o.SetResourceVersion("1") })
	s.forms("a custom object", func(t *wire.Take, form wire.Form) error {
		given := wire.As(form, widget(t, ""))
		t.Show(given)
		return s.c.Create(t.Ctx, given)
	})
	s.forms("a cluster-scoped object", func(t *wire.Take, form wire.Form) error {
		given := wire.As(form, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: t.Namespace + "-" + t.Name}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: "none",
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}}}})
		return s.c.Create(t.Ctx, given, client.DryRunAll)
	})
	s.call("with a field that does not exist, strictly", func(t *wire.Take) error {
		given := wire.As(wire.Unstructured, config(t, ""))
		withField(given, "nonsense", "x")
		return s.c.Create(t.Ctx, given, client.FieldValidation(metav1.FieldValidationStrict))
	})
	s.call("with a field that does not exist, ignored", func(t *wire.Take) error {
		given := wire.As(wire.Unstructured, config(t, ""))
		withField(given, "nonsense", "x")
		t.Show(given)
		return s.c.Create(t.Ctx, given, client.FieldValidation(metav1.FieldValidationIgnore))
	})
	s.call("a pod that is not valid", func(t *wire.Take) error {
		return s.c.Create(t.Ctx, &corev1.Pod{ObjectMeta: t.Meta("")})
	})
	s.call("what is forbidden", func(t *wire.Take) error { return s.forbidden.Create(t.Ctx, config(t, "")) })
	s.call("a kind that the server does not know", func(t *wire.Take) error { return s.c.Create(t.Ctx, unknown()) })
	s.call("a type that is not registered", func(t *wire.Take) error { return s.c.Create(t.Ctx, &wire.Unregistered{}) })
}

func (s *side) updates() {
	update := func(name string, change func(t *wire.Take, o *corev1.ConfigMap), options ...client.UpdateOption) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			made := config(t, "")
			t.Make(made)
			made.Data["key"] = "changed"
			if change != nil {
				change(t, made)
			}
			given := wire.As(form, made)
			t.Show(given)
			return s.c.Update(t.Ctx, given, options...)
		})
	}
	update("a ConfigMap", nil)
	update("a dry run", nil, client.DryRunAll)
	update("with an owner of its fields", nil, client.FieldOwner("somebody"))
	update("with options as a struct", nil, &client.UpdateOptions{FieldManager: "somebody", FieldValidation: "Ignore", DryRun: []string{metav1.DryRunAll}})
	update("an old version", func(t *wire.Take, o *corev1.ConfigMap) { t.Change(config(t, "")) })
	update("without a version", func(t *wire.Take, o *corev1.ConfigMap) { o.ResourceVersion = "" })
	update("with another UID", func(t *wire.Take, o *corev1.ConfigMap) { o.UID = "00000000-0000-0000-0000-000000000000" })
	update("what is not valid", func(t *wire.Take, o *corev1.ConfigMap) { o.Labels = map[string]string{"a": "no spaces"} })
	update("what does not exist", func(t *wire.Take, o *corev1.ConfigMap) { o.Name += "-none" })
	update("without a name", func(t *wire.Take, o *corev1.ConfigMap) { o.Name = "" })
	update("in no namespace", func(t *wire.Take, o *corev1.ConfigMap) { o.Namespace = "" })
	s.forms("a custom object", func(t *wire.Take, form wire.Form) error {
		made := widget(t, "")
		t.Make(made)
		made.Spec.Replicas, made.Status.Phase = 5, "is not written"
		given := wire.As(form, made)
		t.Show(given)
		return s.c.Update(t.Ctx, given)
	})
	s.call("with a field that does not exist, strictly", func(t *wire.Take) error {
		made := widget(t, "")
		t.Make(made)
		given := wire.As(wire.Unstructured, made)
		withField(given, "nonsense", "x")
		return s.c.Update(t.Ctx, given, client.FieldValidation(metav1.FieldValidationStrict))
	})
	s.call("what is forbidden", func(t *wire.Take) error { return s.forbidden.Update(t.Ctx, config(t, "")) })
}

func (s *side) deletes() {
	remove := func(name string, change func(t *wire.Take, o *corev1.ConfigMap) []client.DeleteOption) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			made := config(t, "")
			t.Make(made)
			var options []client.DeleteOption
			if change != nil {
				options = change(t, made)
			}
			given := wire.As(form, made)
			t.Show(given)
			return s.c.Delete(t.Ctx, given, options...)
		})
	}
	remove("a ConfigMap", nil)
	remove("a dry run", func(*wire.Take, *corev1.ConfigMap) []client.DeleteOption {
		return []client.DeleteOption{client.DryRunAll}
	})
	remove("with all options", func(_ *wire.Take, o *corev1.ConfigMap) []client.DeleteOption {
		return []client.DeleteOption{client.GracePeriodSeconds(5), client.PropagationPolicy(metav1.DeletePropagationForeground),
			client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}}
	})
	remove("with options as a struct", func(*wire.Take, *corev1.ConfigMap) []client.DeleteOption {
		return []client.DeleteOption{&client.DeleteOptions{GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationOrphan),
			DryRun: []string{metav1.DryRunAll}, Raw: &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(false)}}}
	})
	remove("another UID", func(*wire.Take, *corev1.ConfigMap) []client.DeleteOption {
		return []client.DeleteOption{client.Preconditions{UID: new(types.UID("00000000-0000-0000-0000-000000000000"))}}
	})
	remove("an old version", func(t *wire.Take, o *corev1.ConfigMap) []client.DeleteOption {
		t.Change(config(t, ""))
		return []client.DeleteOption{client.Preconditions{ResourceVersion: &o.ResourceVersion}}
	})
	remove("what has a finalizer", func(t *wire.Take, _ *corev1.ConfigMap) []client.DeleteOption {
		t.Mutate(config(t, ""), `{"metadata":{"finalizers":["example.com/wait"]}}`)
		return nil
	})
	remove("what does not exist", func(_ *wire.Take, o *corev1.ConfigMap) []client.DeleteOption { o.Name += "-none"; return nil })
	remove("without a name", func(_ *wire.Take, o *corev1.ConfigMap) []client.DeleteOption { o.Name = ""; return nil })
	remove("with a policy that does not exist", func(*wire.Take, *corev1.ConfigMap) []client.DeleteOption {
		return []client.DeleteOption{client.PropagationPolicy("Nonsense")}
	})
	s.forms("a custom object", func(t *wire.Take, form wire.Form) error {
		made := widget(t, "")
		t.Make(made)
		return s.c.Delete(t.Ctx, wire.As(form, made))
	})
	s.call("a pod at once", func(t *wire.Take) error {
		made := pod(t, "")
		t.Make(made)
		return s.c.Delete(t.Ctx, made, client.GracePeriodSeconds(0))
	})
	s.call("what is forbidden", func(t *wire.Take) error { return s.forbidden.Delete(t.Ctx, config(t, "")) })
}

func (s *side) deletesOfMany() {
	remove := func(name string, options func(t *wire.Take) []client.DeleteAllOfOption) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			t.Make(config(t, "-1"), config(t, "-2"))
			left := &corev1.ConfigMapList{}
			t.Show(left)
			err := s.c.DeleteAllOf(t.Ctx, wire.Blank(form, &corev1.ConfigMap{}), append(options(t), client.InNamespace(t.Namespace))...)
			if err != nil {
				return err
			}
			return s.c.List(t.Ctx, left, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()))
		})
	}
	remove("by labels", func(t *wire.Take) []client.DeleteAllOfOption {
		return []client.DeleteAllOfOption{client.MatchingLabels(t.Labels())}
	})
	remove("by labels and a field", func(t *wire.Take) []client.DeleteAllOfOption {
		return []client.DeleteAllOfOption{client.MatchingLabels(t.Labels()), client.HasLabels{"take"}, client.MatchingFields{"metadata.name": t.Name + "-1"}}
	})
	remove("with all options", func(t *wire.Take) []client.DeleteAllOfOption {
		return []client.DeleteAllOfOption{client.MatchingLabels(t.Labels()), client.GracePeriodSeconds(3), client.DryRunAll,
			client.PropagationPolicy(metav1.DeletePropagationBackground)}
	})
	remove("with options as a struct", func(t *wire.Take) []client.DeleteAllOfOption {
		return []client.DeleteAllOfOption{client.MatchingLabels(t.Labels()), &client.DeleteAllOfOptions{
			ListOptions:   client.ListOptions{Limit: 1},
			DeleteOptions: client.DeleteOptions{GracePeriodSeconds: new(int64(1))}}}
	})
	remove("by a label that is not valid", func(t *wire.Take) []client.DeleteAllOfOption {
		return []client.DeleteAllOfOption{client.MatchingLabels{"a": "no spaces"}}
	})
	s.call("custom objects", func(t *wire.Take) error {
		t.Make(widget(t, "-1"), widget(t, "-2"))
		return s.c.DeleteAllOf(t.Ctx, &wire.Widget{}, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()))
	})
	s.call("what cannot be deleted so", func(t *wire.Take) error {
		return s.c.DeleteAllOf(t.Ctx, &corev1.Namespace{}, client.MatchingLabels(t.Labels()))
	})
	s.call("what is forbidden", func(t *wire.Take) error {
		return s.forbidden.DeleteAllOf(t.Ctx, &corev1.ConfigMap{}, client.InNamespace(t.Namespace))
	})
}
