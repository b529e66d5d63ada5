// Code generated from ../calls by UPDATE=1 go test ./client -run Program. DO NOT EDIT.

package ourcalls

import (
	"github.com/loopwright/loopwright/manager/client"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

func (s *side) statuses() {
	// change makes a Widget, and changes its spec, which should not be written, and its status.
	change := func(name string, do func(t *wire.Take, before, after wire.Object) error) {
		s.forms(name, func(t *wire.Take, form wire.Form) error {
			made := widget(t, "")
			t.Make(made)
			changed := made.DeepCopyObject().(*wire.Widget)
			changed.Spec.Color, changed.Status.Phase = "not written", "Ready"
			before, after := wire.As(form, made), wire.As(form, changed)
			t.Show(after)
			return do(t, before, after)
		})
	}
	change("update", func(t *wire.Take, _, after wire.Object) error { return s.c.Status().Update(t.Ctx, after) })
	change("update with all options", func(t *wire.Take, _, after wire.Object) error {
		return s.c.Status().Update(t.Ctx, after, client.DryRunAll, client.FieldOwner("somebody"), client.FieldValidation("Strict"))
	})
	change("update with options as a struct", func(t *wire.Take, _, after wire.Object) error {
		return s.c.Status().Update(t.Ctx, after, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{FieldManager: "somebody"}})
	})
	change("update of an old version", func(t *wire.Take, _, after wire.Object) error {
		t.Change(widget(t, ""))
		return s.c.Status().Update(t.Ctx, after)
	})
	change("update of what does not exist", func(t *wire.Take, _, after wire.Object) error {
		after.SetName("none")
		return s.c.Status().Update(t.Ctx, after)
	})
	change("merge patch", func(t *wire.Take, before, after wire.Object) error {
		return s.c.Status().Patch(t.Ctx, after, client.MergeFrom(before))
	})
	change("merge patch with all options", func(t *wire.Take, before, after wire.Object) error {
		return s.c.Status().Patch(t.Ctx, after, client.MergeFrom(before), client.DryRunAll, client.FieldOwner("somebody"), client.FieldValidation("Ignore"))
	})
	change("merge patch of an old version", func(t *wire.Take, before, after wire.Object) error {
		t.Change(widget(t, ""))
		return s.c.Status().Patch(t.Ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	change("raw patch", func(t *wire.Take, before, after wire.Object) error {
		return s.c.Status().Patch(t.Ctx, after, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/status","value":{"phase":"x"}}]`)))
	})
	change("with a body of its own", func(t *wire.Take, before, after wire.Object) error {
		body := widget(t, "")
		body.ResourceVersion, body.Status.Phase = before.GetResourceVersion(), "from the body"
		t.Show(body)
		return s.c.Status().Update(t.Ctx, after, client.WithSubResourceBody(body))
	})
	s.call("patch without a namespace", func(t *wire.Take) error {
		made := widget(t, "")
		made.Namespace = ""
		return s.c.Status().Patch(t.Ctx, made, client.RawPatch(types.MergePatchType, []byte(`{}`)))
	})
	s.call("apply without a namespace", func(t *wire.Take) error {
		return s.c.Status().Apply(t.Ctx, appsv1ac.Deployment(t.Name, ""), client.FieldOwner("somebody"))
	})
	s.call("apply patch", func(t *wire.Take) error {
		t.Make(widget(t, ""))
		given := &wire.Widget{TypeMeta: metav1.TypeMeta{APIVersion: wire.Widgets.String(), Kind: "Widget"}, ObjectMeta: metav1.ObjectMeta{Name: t.Name, Namespace: t.Namespace}}
		given.Status.Phase = "Applied"
		t.Show(given)
		return s.c.Status().Patch(t.Ctx, given, client.Apply, client.FieldOwner("somebody"), client.ForceOwnership)
	})
	s.call("apply", func(t *wire.Take) error {
		t.Make(deployment(t))
		given := appsv1ac.Deployment(t.Name, t.Namespace).WithStatus(appsv1ac.DeploymentStatus().WithReplicas(3).WithObservedGeneration(1))
		t.Show(given)
		return s.c.Status().Apply(t.Ctx, given, client.FieldOwner("somebody"), client.ForceOwnership)
	})
	s.call("apply with a body", func(t *wire.Take) error {
		t.Make(deployment(t))
		body := appsv1ac.Deployment(t.Name, t.Namespace).WithStatus(appsv1ac.DeploymentStatus().WithReplicas(4))
		given := appsv1ac.Deployment(t.Name, t.Namespace)
		t.Show(given, body)
		return s.c.Status().Apply(t.Ctx, given, &client.SubResourceApplyOptions{
			ApplyOptions: client.ApplyOptions{FieldManager: "somebody", DryRun: []string{metav1.DryRunAll}}, SubResourceBody: body})
	})
	s.call("update of a Deployment", func(t *wire.Take) error {
		made := deployment(t)
		t.Make(made)
		made.Status.Replicas, made.Status.ReadyReplicas = 2, 1
		t.Show(made)
		return s.c.Status().Update(t.Ctx, made)
	})
	s.call("strategic patch of a Pod", func(t *wire.Take) error {
		made := pod(t, "")
		t.Make(made)
		before := made.DeepCopy()
		made.Status.Conditions = append(made.Status.Conditions, corev1.PodCondition{Type: "example.com/ours", Status: "True"})
		t.Show(made)
		return s.c.Status().Patch(t.Ctx, made, client.StrategicMergeFrom(before))
	})
	s.call("of a kind that has none", func(t *wire.Take) error {
		made := config(t, "")
		t.Make(made)
		return s.c.Status().Update(t.Ctx, made)
	})
	s.call("create, which does not exist", func(t *wire.Take) error {
		made := widget(t, "")
		t.Make(made)
		return s.c.Status().Create(t.Ctx, made, widget(t, ""))
	})
	s.call("what is forbidden", func(t *wire.Take) error { return s.forbidden.Status().Update(t.Ctx, widget(t, "")) })
}

func (s *side) subresources() {
	scale := func(t *wire.Take, replicas int32) *autoscalingv1.Scale {
		return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: t.Name, Namespace: t.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	}
	s.forms("get scale", func(t *wire.Take, form wire.Form) error {
		made := deployment(t)
		t.Make(made)
		got := &autoscalingv1.Scale{}
		t.Show(got)
		return s.c.SubResource("scale").Get(t.Ctx, wire.As(form, made), got)
	})
	s.call("get scale, all unstructured", func(t *wire.Take) error {
		made := widget(t, "")
		t.Make(made)
		got := &unstructured.Unstructured{}
		got.SetAPIVersion("autoscaling/v1")
		got.SetKind("Scale")
		t.Show(got)
		return s.c.SubResource("scale").Get(t.Ctx, wire.As(wire.Unstructured, made), got)
	})
	s.call("get scale with options", func(t *wire.Take) error {
		made := deployment(t)
		t.Make(made)
		return s.c.SubResource("scale").Get(t.Ctx, made, &autoscalingv1.Scale{}, &client.SubResourceGetOptions{Raw: &metav1.GetOptions{ResourceVersion: made.ResourceVersion}})
	})
	s.forms("update scale", func(t *wire.Take, form wire.Form) error {
		made := deployment(t)
		t.Make(made)
		given, body := wire.As(form, made), scale(t, 3)
		t.Show(given, body)
		return s.c.SubResource("scale").Update(t.Ctx, given, client.WithSubResourceBody(body))
	})
	s.call("update scale of a custom object, all unstructured", func(t *wire.Take) error {
		made := widget(t, "")
		t.Make(made)
		body := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": t.Name, "namespace": t.Namespace}, "spec": map[string]any{"replicas": int64(4)}}}
		body.SetAPIVersion("autoscaling/v1")
		body.SetKind("Scale")
		t.Show(body)
		return s.c.SubResource("scale").Update(t.Ctx, wire.As(wire.Unstructured, made), client.WithSubResourceBody(body))
	})
	s.forms("patch scale", func(t *wire.Take, form wire.Form) error {
		made := deployment(t)
		t.Make(made)
		body := scale(t, 0)
		t.Show(body)
		return s.c.SubResource("scale").Patch(t.Ctx, wire.As(form, made), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)), client.WithSubResourceBody(body))
	})
	s.call("patch scale of what does not exist", func(t *wire.Take) error {
		return s.c.SubResource("scale").Patch(t.Ctx, deployment(t), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)), client.WithSubResourceBody(scale(t, 0)))
	})
	s.forms("create an eviction", func(t *wire.Take, form wire.Form) error {
		made := pod(t, "")
		t.Make(made)
		body := &policyv1.Eviction{}
		t.Show(body)
		return s.c.SubResource("eviction").Create(t.Ctx, wire.As(form, made), body)
	})
	s.call("create an eviction, as a dry run", func(t *wire.Take) error {
		made := pod(t, "")
		t.Make(made)
		return s.c.SubResource("eviction").Create(t.Ctx, made, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}}, client.DryRunAll, client.FieldOwner("somebody"))
	})
	s.call("create an eviction of what does not exist", func(t *wire.Take) error {
		return s.c.SubResource("eviction").Create(t.Ctx, pod(t, ""), &policyv1.Eviction{})
	})
	s.call("create an eviction that a budget forbids", func(t *wire.Take) error {
		made := pod(t, "")
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: t.Meta(""), Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &selector{MatchLabels: t.Labels()}}}
		t.Make(budget, made)
		t.MutateStatus(made, `{"status":{"phase":"Running"}}`) // no budget protects a pod that is pending
		t.MutateStatus(budget, `{"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1,"expectedPods":1}}`)
		return s.c.SubResource("eviction").Create(t.Ctx, made, &policyv1.Eviction{})
	})
	s.call("create a token", func(t *wire.Take) error {
		account := &corev1.ServiceAccount{ObjectMeta: t.Meta("")}
		t.Make(account)
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
		t.Show(request)
		return s.c.SubResource("token").Create(t.Ctx, account, request)
	})
	s.call("create a token, all unstructured", func(t *wire.Take) error {
		account := &corev1.ServiceAccount{ObjectMeta: t.Meta("")}
		t.Make(account)
		request := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"expirationSeconds": int64(3600)}}}
		request.SetAPIVersion("authentication.k8s.io/v1")
		request.SetKind("TokenRequest")
		t.Show(request)
		return s.c.SubResource("token").Create(t.Ctx, wire.As(wire.Unstructured, account), request)
	})
	s.call("create a binding", func(t *wire.Take) error {
		made := pod(t, "")
		t.Make(made)
		body := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}
		t.Show(body)
		return s.c.SubResource("binding").Create(t.Ctx, made, body)
	})
	s.call("create a binding with options as a struct", func(t *wire.Take) error {
		made := pod(t, "")
		t.Make(made)
		return s.c.SubResource("binding").Create(t.Ctx, made, &corev1.Binding{Target: corev1.ObjectReference{Name: "nowhere"}},
			&client.SubResourceCreateOptions{CreateOptions: client.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "somebody"}})
	})
	s.call("update ephemeral containers", func(t *wire.Take) error {
		made := pod(t, "")
		t.Make(made)
		made.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "example.com/debug", TerminationMessagePolicy: "File"}}}
		t.Show(made)
		return s.c.SubResource("ephemeralcontainers").Update(t.Ctx, made)
	})
	s.call("one that does not exist", func(t *wire.Take) error {
		made := config(t, "")
		t.Make(made)
		return s.c.SubResource("nonsense").Get(t.Ctx, made, &corev1.ConfigMap{})
	})
	s.call("of a type that is not registered", func(t *wire.Take) error {
		return s.c.SubResource("scale").Get(t.Ctx, &wire.Unregistered{}, &autoscalingv1.Scale{})
	})
	s.call("into a type that is not registered", func(t *wire.Take) error {
		return s.c.SubResource("scale").Get(t.Ctx, &appsv1.Deployment{ObjectMeta: t.Meta("")}, &wire.Unregistered{})
	})
	s.call("what is forbidden", func(t *wire.Take) error {
		return s.forbidden.SubResource("token").Create(t.Ctx, &corev1.ServiceAccount{ObjectMeta: t.Meta("")}, &authenticationv1.TokenRequest{})
	})
}
