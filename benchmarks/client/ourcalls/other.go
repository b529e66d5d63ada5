// Code generated from ../calls by UPDATE=1 go test ./client -run Program. DO NOT EDIT.

package ourcalls

import (
	"errors"
	"fmt"

	"github.com/loopwright/loopwright/manager/client"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

func (s *side) watches() {
	watch := func(name string, options func(t *wire.Take) []client.ListOption) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			made := config(t, "-1")
			t.Make(made)
			list := wire.BlankList(form, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
			events, err := s.c.Watch(t.Ctx, list, append(options(t), client.InNamespace(t.Namespace),
				&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: made.ResourceVersion, TimeoutSeconds: new(int64(60))}})...)
			if err != nil {
				return err
			}
			defer events.Stop()
			t.Make(config(t, "-2"))
			select {
			case e, open := <-events.ResultChan():
				if !open {
					return errors.New("the watch ended")
				}
				t.Show(string(e.Type), e.Object)
			case <-t.Ctx.Done():
				return t.Ctx.Err()
			}
			return nil
		})
	}
	watch("by labels", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.MatchingLabels(t.Labels())}
	})
	watch("by a field", func(t *wire.Take) []client.ListOption {
		return []client.ListOption{client.MatchingFields{"metadata.name": t.Name + "-2"}}
	})
	s.call("custom objects", func(t *wire.Take) error {
		t.Make(widget(t, ""))
		events, err := s.c.Watch(t.Ctx, &wire.WidgetList{}, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()))
		if err != nil {
			return err
		}
		defer events.Stop()
		e := <-events.ResultChan()
		t.Show(string(e.Type), e.Object)
		return nil
	})
	s.forms("what is forbidden", func(t *wire.Take, form wire.Form) error {
		_, err := s.forbidden.Watch(t.Ctx, wire.BlankList(form, &corev1.Secret{}, &corev1.SecretList{}))
		return err
	})
	s.call("a kind that the server does not know", func(t *wire.Take) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("nowhere.example.com/v1")
		list.SetKind("NothingList")
		_, err := s.c.Watch(t.Ctx, list)
		return err
	})
}

func (s *side) wrappers() {
	// each makes all kinds of writes with a client.
	each := func(name string, c func(t *wire.Take) client.Client) {
		s.call(name+": create", func(t *wire.Take) error { return c(t).Create(t.Ctx, config(t, "")) })
		s.call(name+": create, with its own options", func(t *wire.Take) error {
			return c(t).Create(t.Ctx, config(t, ""), client.FieldOwner("explicit"), client.FieldValidation("Ignore"))
		})
		s.call(name+": update", func(t *wire.Take) error {
			made := config(t, "")
			t.Make(made)
			return c(t).Update(t.Ctx, made)
		})
		s.call(name+": patch", func(t *wire.Take) error {
			made := config(t, "")
			t.Make(made)
			before := made.DeepCopy()
			made.Data["key"] = "patched"
			return c(t).Patch(t.Ctx, made, client.MergeFrom(before))
		})
		s.call(name+": apply", func(t *wire.Take) error {
			return c(t).Apply(t.Ctx, corev1ac.ConfigMap(t.Name, t.Namespace), client.FieldOwner("explicit"))
		})
		s.call(name+": delete", func(t *wire.Take) error {
			made := config(t, "")
			t.Make(made)
			return c(t).Delete(t.Ctx, made)
		})
		s.call(name+": delete many", func(t *wire.Take) error {
			return c(t).DeleteAllOf(t.Ctx, &corev1.ConfigMap{}, client.InNamespace(t.Namespace), client.MatchingLabels(t.Labels()))
		})
		s.call(name+": update the status", func(t *wire.Take) error {
			made := widget(t, "")
			t.Make(made)
			return c(t).Status().Update(t.Ctx, made)
		})
		s.call(name+": patch the status", func(t *wire.Take) error {
			made := widget(t, "")
			t.Make(made)
			return c(t).Status().Patch(t.Ctx, made, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"x"}}`)))
		})
		s.call(name+": bind a pod", func(t *wire.Take) error {
			made := pod(t, "")
			t.Make(made)
			return c(t).SubResource("binding").Create(t.Ctx, made, &corev1.Binding{Target: corev1.ObjectReference{Name: "nowhere"}})
		})
		s.call(name+": get and list", func(t *wire.Take) error {
			t.Make(config(t, ""))
			got, list := &corev1.ConfigMap{}, &corev1.ConfigMapList{}
			t.Show(got, list)
			return errors.Join(c(t).Get(t.Ctx, t.Key(), got), c(t).List(t.Ctx, list, client.MatchingLabels(t.Labels())))
		})
	}
	each("NewDryRunClient", func(*wire.Take) client.Client { return client.NewDryRunClient(s.c) })
	each("WithFieldOwner", func(*wire.Take) client.Client { return client.WithFieldOwner(s.c, "default") })
	each("WithFieldValidation", func(*wire.Take) client.Client {
		return client.WithFieldValidation(s.c, metav1.FieldValidationStrict)
	})
	each("NewNamespacedClient", func(t *wire.Take) client.Client { return client.NewNamespacedClient(s.c, t.Namespace) })
	each("all options", func(*wire.Take) client.Client {
		return s.open(client.Options{DryRun: new(true), FieldOwner: "default", FieldValidation: metav1.FieldValidationWarn})
	})

	s.call("NewNamespacedClient: create without a namespace", func(t *wire.Take) error {
		object := config(t, "")
		object.Namespace = ""
		t.Show(object)
		return client.NewNamespacedClient(s.c, t.Namespace).Create(t.Ctx, object)
	})
	s.call("NewNamespacedClient: create elsewhere", func(t *wire.Take) error {
		object := config(t, "")
		object.Namespace = "default"
		return client.NewNamespacedClient(s.c, t.Namespace).Create(t.Ctx, object)
	})
	s.call("NewNamespacedClient: get elsewhere", func(t *wire.Take) error {
		return client.NewNamespacedClient(s.c, t.Namespace).Get(t.Ctx, client.ObjectKey{Namespace: "default", Name: t.Name}, &corev1.ConfigMap{})
	})
	s.call("NewNamespacedClient: get a cluster-scoped object", func(t *wire.Take) error {
		got := &corev1.Namespace{}
		t.Show(got)
		return client.NewNamespacedClient(s.c, t.Namespace).Get(t.Ctx, client.ObjectKey{Name: "kube-system"}, got)
	})
	s.call("NewNamespacedClient: list elsewhere", func(t *wire.Take) error {
		return client.NewNamespacedClient(s.c, t.Namespace).List(t.Ctx, &corev1.ConfigMapList{}, client.InNamespace("default"), client.MatchingLabels(t.Labels()))
	})
	s.call("IgnoreNotFound", func(t *wire.Take) error {
		return client.IgnoreNotFound(s.c.Get(t.Ctx, t.Key(), &corev1.ConfigMap{}))
	})
	s.call("IgnoreAlreadyExists", func(t *wire.Take) error {
		t.Make(config(t, ""))
		return client.IgnoreAlreadyExists(s.c.Create(t.Ctx, config(t, "")))
	})
}

func (s *side) kinds() {
	objects := []struct {
		name   string
		object client.Object
	}{
		{"a Deployment", &appsv1.Deployment{}},
		{"a Namespace, as metadata", &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}},
		{"a Widget", &wire.Widget{}},
		{"a kind that the server does not know", unknown()},
		{"a type that is not registered", &wire.Unregistered{}},
		{"an object without a kind", &unstructured.Unstructured{}},
	}
	for _, o := range objects {
		s.call("GroupVersionKindFor "+o.name, func(t *wire.Take) error {
			kind, err := s.c.GroupVersionKindFor(o.object)
			t.Show(kind.String())
			return err
		})
		s.call("IsObjectNamespaced of "+o.name, func(t *wire.Take) error {
			namespaced, err := s.c.IsObjectNamespaced(o.object)
			t.Show(fmt.Sprint(namespaced))
			return err
		})
	}
	s.call("RESTMapping of a Deployment", func(t *wire.Take) error {
		mapping, err := s.c.RESTMapper().RESTMapping(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind())
		if err == nil {
			t.Show(mapping.Resource.String(), mapping.GroupVersionKind.String(), string(mapping.Scope.Name()))
		}
		return err
	})
	s.call("RESTMapping of an unknown version", func(t *wire.Take) error {
		_, err := s.c.RESTMapper().RESTMapping(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), "v99")
		return err
	})
	s.call("KindsFor widgets", func(t *wire.Take) error {
		kinds, err := s.c.RESTMapper().KindsFor(wire.Widgets.WithResource("widgets"))
		t.Show(fmt.Sprint(kinds))
		return err
	})
}
