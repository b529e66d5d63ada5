package fake_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	applyautoscalingv1 "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

func TestServerSideApplyMergesAndFindsConflicts(t *testing.T) {
	c := fake.NewFakeClient()
	apply := func(owner, key, value string, opts ...client.ApplyOption) error {
		return c.Apply(t.Context(), applycorev1.ConfigMap("a", "shop").WithData(map[string]string{key: value}), append(opts, client.FieldOwner(owner))...)
	}
	require.NoError(t, apply("one", "k", "v"))
	require.NoError(t, apply("two", "l", "w"))
	require.True(t, apierrors.IsConflict(apply("two", "k", "w")))
	require.NoError(t, apply("two", "l", "x", client.ForceOwnership))
	got := read(t, c, configMap("a"))
	require.Equal(t, map[string]string{"k": "v", "l": "x"}, got.Data)
	require.Empty(t, got.ManagedFields, "who owns what is of no interest to most tests")

	u := looseWidget("w")
	require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("one")), "a custom resource can be applied, too")
	require.NotEmpty(t, u.GetUID())
}

func TestManagedFieldsAreShownOnDemand(t *testing.T) {
	c := builder().WithReturnManagedFields().Build()
	owned := configMap("a")
	owned.Data = map[string]string{"k": "v"}
	require.NoError(t, c.Create(t.Context(), owned, client.FieldOwner("me")))
	require.Equal(t, "me", read(t, c, configMap("a")).ManagedFields[0].Manager)
	list := &corev1.ConfigMapList{}
	require.NoError(t, c.List(t.Context(), list))
	require.NotEmpty(t, list.Items[0].ManagedFields)

	hiding := builder().Build()
	owned.ResourceVersion = ""
	require.NoError(t, hiding.Create(t.Context(), owned))
	require.NoError(t, hiding.List(t.Context(), list))
	require.Empty(t, list.Items[0].ManagedFields)
}

func TestPatches(t *testing.T) {
	c := builder().WithObjects(pod("a"), widget("w")).Build()
	p := read(t, c, pod("a"))
	before := p.DeepCopy()
	p.Labels = map[string]string{"a": "b"}
	require.NoError(t, c.Patch(t.Context(), p, client.StrategicMergeFrom(before)))
	require.Equal(t, "b", p.Labels["a"])
	stale := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	p.Labels["a"] = "c"
	require.True(t, apierrors.IsConflict(c.Patch(t.Context(), p.DeepCopy(), stale)))
	w := read(t, c, widget("w"))
	old := w.DeepCopyObject().(*Widget)
	w.Status.Size = 3
	require.NoError(t, c.Status().Patch(t.Context(), w, client.MergeFrom(old)))
	require.Equal(t, 3, read(t, c, widget("w")).Status.Size)
	require.True(t, apierrors.IsUnsupportedMediaType(c.Patch(t.Context(), w, client.StrategicMergeFrom(old))),
		"a cluster cannot merge custom resources strategically")
}

func TestSubresources(t *testing.T) {
	replicas := int32(1)
	d := &appsv1.Deployment{ObjectMeta: inShop("d"), Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	account := &corev1.ServiceAccount{ObjectMeta: inShop("robot")}
	c := builder().LikeControllerRuntime().WithObjects(d, account, pod("p")).Build()
	scale := &autoscalingv1.Scale{}
	require.NoError(t, c.SubResource("scale").Get(t.Context(), d, scale))
	scale.Spec.Replicas = 5
	require.NoError(t, c.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(scale)))
	require.EqualValues(t, 5, *read(t, c, &appsv1.Deployment{ObjectMeta: inShop("d")}).Spec.Replicas)

	token := &authenticationv1.TokenRequest{}
	require.NoError(t, c.SubResource("token").Create(t.Context(), account, token))
	require.NotEmpty(t, token.Status.Token)
	require.NoError(t, c.SubResource("eviction").Create(t.Context(), pod("p"), &policyv1.Eviction{}))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "p"}, pod("p"))))
}

// A server takes all of these, and tests have them.
func TestScalesAndEvictionsInTheirOtherForms(t *testing.T) {
	labels := map[string]string{"a": "b"}
	rc := &corev1.ReplicationController{ObjectMeta: inShop("rc"), Spec: corev1.ReplicationControllerSpec{
		Selector: labels, Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("p").Spec}}}
	c := builder().WithObjects(pod("p")).Build()
	require.NoError(t, c.Create(t.Context(), rc))
	scale := &autoscalingv1.Scale{}
	require.NoError(t, c.SubResource("scale").Get(t.Context(), rc, scale))
	require.EqualValues(t, 1, scale.Spec.Replicas)
	require.Equal(t, "a=b", scale.Status.Selector)

	five := applyautoscalingv1.Scale().WithName("rc").WithNamespace("shop").WithSpec(applyautoscalingv1.ScaleSpec().WithReplicas(5))
	apply := func(options ...client.SubResourceApplyOption) error {
		options = append(options, &client.SubResourceApplyOptions{SubResourceBody: five})
		return c.SubResource("scale").Apply(t.Context(), applycorev1.ReplicationController("rc", "shop"), options...)
	}
	require.True(t, apierrors.IsConflict(apply(client.FieldOwner("me"))), "another one has set the replicas")
	require.NoError(t, apply(client.FieldOwner("me"), client.ForceOwnership))
	require.EqualValues(t, 5, *read(t, c, &corev1.ReplicationController{ObjectMeta: inShop("rc")}).Spec.Replicas)

	require.NoError(t, c.SubResource("eviction").Create(t.Context(), pod("p"), &policyv1beta1.Eviction{}))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "p"}, pod("p"))))
}

func TestDryRunsAndSelectedDeletes(t *testing.T) {
	a, b := configMap("a"), configMap("b")
	b.Labels = map[string]string{"app": "b"}
	c := builder().WithObjects(a, b).Build()
	require.NoError(t, c.Create(t.Context(), configMap("dry"), client.DryRunAll))
	require.NoError(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace("shop"), client.MatchingLabels{"app": "b"}))
	list := &corev1.ConfigMapList{}
	require.NoError(t, c.List(t.Context(), list))
	require.Len(t, list.Items, 1)
	require.Equal(t, "a", list.Items[0].Name)
}

func TestGeneratedNames(t *testing.T) {
	c := builder().Build()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "a-"}}
	require.NoError(t, c.Create(t.Context(), cm))
	require.True(t, strings.HasPrefix(cm.Name, "a-") && len(cm.Name) == 7, cm.Name)
}

func TestAClientNeedsNoClosing(t *testing.T) {
	// A bubble fails the test if a goroutine is left.
	synctest.Test(t, func(t *testing.T) {
		c := builder().WithObjects(pod("a")).Build()
		w, err := c.Watch(t.Context(), &WidgetList{}, client.InNamespace("shop"))
		require.NoError(t, err)
		require.NoError(t, c.Create(t.Context(), widget("a")))
		event := <-w.ResultChan()
		require.Equal(t, watch.Added, event.Type)
		require.Equal(t, "a", event.Object.(*Widget).Name)
		w.Stop()
		// One that is not stopped ends with its context.
		_, err = c.Watch(t.Context(), &corev1.PodList{})
		require.NoError(t, err)
	})
}

func TestAWatchSelectsAsAServerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := builder().Build()
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		w, err := c.Watch(t.Context(), list, client.MatchingLabels{"on": "n2"})
		require.NoError(t, err)
		defer w.Stop()
		require.NoError(t, c.Create(t.Context(), podOn("a", "n1")))
		require.NoError(t, c.Create(t.Context(), podOn("b", "n2")))
		require.Equal(t, "b", (<-w.ResultChan()).Object.(client.Object).GetName())
	})
}

func TestOneClientServesManyGoroutines(t *testing.T) {
	c := builder().WithObjects(configMap("a")).Build()
	done := make(chan error)
	for range 8 {
		go func() {
			var err error
			for range 20 {
				for {
					cm := configMap("a")
					err = c.Get(t.Context(), client.ObjectKeyFromObject(cm), cm)
					cm.Data = map[string]string{"n": cm.Data["n"] + "x"}
					if err == nil {
						err = c.Update(t.Context(), cm)
					}
					if !apierrors.IsConflict(err) {
						break
					}
				}
			}
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	require.Len(t, read(t, c, configMap("a")).Data["n"], 160, "no update may be lost")
}
