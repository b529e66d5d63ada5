// Code generated from ../calls by UPDATE=1 go test ./client -run Program. DO NOT EDIT.

package ourcalls

import (
	"context"
	"time"

	"github.com/loopwright/loopwright/manager/client"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

type selector = metav1.LabelSelector

func (s *side) gets() {
	s.forms("a ConfigMap", func(t *wire.Take, form wire.Form) error {
		made := config(t, "")
		t.Make(made)
		got := wire.Blank(form, made)
		t.Show(got)
		return s.c.Get(t.Ctx, t.Key(), got)
	})
	s.forms("a custom object", func(t *wire.Take, form wire.Form) error {
		made := widget(t, "")
		t.Make(made)
		got := wire.Blank(form, made)
		t.Show(got)
		return s.c.Get(t.Ctx, t.Key(), got)
	})
	s.forms("a cluster-scoped object", func(t *wire.Take, form wire.Form) error {
		got := wire.Blank(form, &corev1.Namespace{})
		t.Show(got)
		return s.c.Get(t.Ctx, client.ObjectKey{Name: "kube-system"}, got)
	})
	s.forms("what does not exist", func(t *wire.Take, form wire.Form) error {
		got := wire.Blank(form, &corev1.ConfigMap{})
		t.Show(got)
		return s.c.Get(t.Ctx, t.Key(), got)
	})
	s.forms("into an object that is not empty", func(t *wire.Take, form wire.Form) error {
		made := config(t, "")
		t.Make(made)
		other := config(t, "")
		other.Labels, other.Data, other.Annotations = nil, map[string]string{"old": "old"}, map[string]string{"old": "old"}
		got := wire.As(form, other)
		t.Show(got)
		return s.c.Get(t.Ctx, t.Key(), got)
	})
	s.forms("from the server's cache", func(t *wire.Take, form wire.Form) error {
		made := config(t, "")
		t.Make(made)
		got := wire.Blank(form, made)
		t.Show(got)
		return s.c.Get(t.Ctx, t.Key(), got, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: made.ResourceVersion}})
	})
	s.forms("without a name", func(t *wire.Take, form wire.Form) error {
		return s.c.Get(t.Ctx, client.ObjectKey{Namespace: t.Namespace}, wire.Blank(form, &corev1.ConfigMap{}))
	})
	s.forms("without a namespace", func(t *wire.Take, form wire.Form) error {
		return s.c.Get(t.Ctx, client.ObjectKey{Name: t.Name}, wire.Blank(form, &corev1.ConfigMap{}))
	})
	s.forms("what is forbidden", func(t *wire.Take, form wire.Form) error {
		return s.forbidden.Get(t.Ctx, t.Key(), wire.Blank(form, &corev1.Secret{}))
	})
	s.call("a type that is not registered", func(t *wire.Take) error {
		return s.c.Get(t.Ctx, t.Key(), &wire.Unregistered{})
	})
	s.call("an object without a kind", func(t *wire.Take) error {
		return s.c.Get(t.Ctx, t.Key(), &unstructured.Unstructured{})
	})
	s.call("metadata without a kind", func(t *wire.Take) error {
		return s.c.Get(t.Ctx, t.Key(), &metav1.PartialObjectMetadata{})
	})
	s.call("a kind that the server does not know", func(t *wire.Take) error {
		return s.c.Get(t.Ctx, t.Key(), unknown())
	})
	s.call("with a context that has ended", func(t *wire.Take) error {
		ctx, cancel := context.WithCancel(t.Ctx)
		defer cancel()
		t.Make(config(t, ""))
		if err := s.c.Get(t.Ctx, t.Key(), &corev1.ConfigMap{}); err != nil { // the kind is known now
			return err
		}
		cancel()
		return s.c.Get(ctx, t.Key(), &corev1.ConfigMap{})
	})
	s.call("after the deadline", func(t *wire.Take) error {
		ctx, cancel := context.WithDeadline(t.Ctx, time.Unix(0, 0))
		defer cancel()
		return s.c.Get(ctx, t.Key(), &corev1.ConfigMap{})
	})
}

// unknown is an object of a kind that no server knows.
func unknown() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("nowhere.example.com/v1")
	u.SetKind("Nothing")
	u.SetName("nothing")
	u.SetNamespace("default")
	return u
}

func (s *side) lists() {
	list := func(name string, options func(t *wire.Take) []client.ListOption) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			t.Make(config(t, "-1"), config(t, "-2"), config(t, "-3"))
			got := wire.BlankList(form, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
			t.Show(got)
			return s.c.List(t.Ctx, got, options(t)...)
		})
	}
	list("of a namespace by labels", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels())}
	})
	list("of all namespaces by labels", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.MatchingLabels(t.Labels())}
	})
	list("by labels twice", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.HasLabels{"take"}, client.MatchingLabels(t.Labels()), client.HasLabels{"none", "neither"}}
	})
	list("by a field", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.InNamespace(t.Namespace), client.MatchingFields{"metadata.name": t.Name + "-2"}}
	})
	list("by a field selector", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()),
			client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("metadata.name", t.Name+"-2")}}
	})
	list("a page", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()), client.Limit(2)}
	})
	list("with a token that the server refuses", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.InNamespace(t.Namespace), client.Limit(2), client.Continue("nonsense")}
	})
	list("with options as a struct", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{&client.ListOptions{Namespace: t.Namespace, Limit: 1, LabelSelector: labels.SelectorFromSet(t.Labels()),
			UnsafeDisableDeepCopy: new(true), Raw: &metav1.ListOptions{TimeoutSeconds: new(int64(7))}}}
	})
	list("by a field that the server does not select by", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.InNamespace(t.Namespace), client.MatchingFields{"data.key": "value"}}
	})
	list("of nothing", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.InNamespace("nowhere")}
	})
	s.forms("from the server's cache", func(t *wire.Take, form wire.Form) error {
		made := config(t, "")
		t.Make(made)
		got := wire.BlankList(form, made, &corev1.ConfigMapList{})
		t.Show(got)
		return s.c.List(t.Ctx, got, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()),
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: made.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}})
	})
	s.forms("page by page", func(t *wire.Take, form wire.Form) error {
		t.Make(config(t, "-1"), config(t, "-2"), config(t, "-3"))
		first := wire.BlankList(form, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
		second := wire.BlankList(form, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
		t.Show(first, second)
		if err := s.c.List(t.Ctx, first, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()), client.Limit(2)); err != nil {
			return err
		}
		return s.c.List(t.Ctx, second, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()), client.Limit(2), client.Continue(first.GetContinue()))
	})
	s.forms("of custom objects", func(t *wire.Take, form wire.Form) error {
		t.Make(widget(t, "-1"), widget(t, "-2"))
		got := wire.BlankList(form, &wire.Widget{}, &wire.WidgetList{})
		t.Show(got)
		return s.c.List(t.Ctx, got, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()))
	})
	s.forms("of cluster-scoped objects", func(t *wire.Take, form wire.Form) error {
		got := wire.BlankList(form, &corev1.Namespace{}, &corev1.NamespaceList{})
		t.Show(got)
		return s.c.List(t.Ctx, got, client.MatchingFields{"metadata.name": "default"})
	})
	s.call("by a selector with a set", func(t *wire.Take) error {
		t.Make(config(t, "-1"), config(t, "-2"))
		in, err := labels.NewRequirement("take", selection.In, []string{t.Labels()["take"], "another"})
		if err != nil {
			return err
		}
		got := &corev1.ConfigMapList{}
		t.Show(got)
		return s.c.List(t.Ctx, got, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*in)}, client.UnsafeDisableDeepCopy)
	})
	s.call("by no selector", func(t *wire.Take) error {
		return s.c.List(t.Ctx, &corev1.SecretList{}, client.InNamespace("nowhere"), client.MatchingLabelsSelector{}, client.MatchingFieldsSelector{})
	})
	s.call("by a label that is not valid", func(t *wire.Take) error {
		return s.c.List(t.Ctx, &corev1.SecretList{}, client.InNamespace("nowhere"), client.MatchingLabels{"a": "no spaces allowed"})
	})
	s.forms("what is forbidden", func(t *wire.Take, form wire.Form) error {
		return s.forbidden.List(t.Ctx, wire.BlankList(form, &corev1.Secret{}, &corev1.SecretList{}))
	})
	s.call("into a list of another kind's name", func(t *wire.Take) error {
		t.Make(config(t, ""))
		got := &unstructured.UnstructuredList{}
		got.SetAPIVersion("v1")
		got.SetKind("ConfigMap") // and not ConfigMapList
		t.Show(got)
		return s.c.List(t.Ctx, got, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()))
	})
	s.call("without a kind", func(t *wire.Take) error { return s.c.List(t.Ctx, &unstructured.UnstructuredList{}) })
	s.call("of a kind that the server does not know", func(t *wire.Take) error {
		got := &unstructured.UnstructuredList{}
		got.SetAPIVersion("nowhere.example.com/v1")
		got.SetKind("NothingList")
		return s.c.List(t.Ctx, got)
	})
}
