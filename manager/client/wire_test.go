package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingapply "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

// The requests in these tests are those that controller-runtime sends.

func TestReadsAskForTheObjectsInTheirForm(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"), widget("w"))
		ctx := w.Context()
		for _, c := range []struct {
			call func() error
			want string
		}{
			{func() error { return w.Get(ctx, shopKey("a"), &corev1.ConfigMap{}) },
				"GET /api/v1/namespaces/shop/configmaps/a accept protobuf, */*"},
			{func() error { return w.Get(ctx, shopKey("a"), newUnstructured(configMapKind)) },
				"GET /api/v1/namespaces/shop/configmaps/a accept json"},
			{func() error { return w.Get(ctx, shopKey("w"), newUnstructured(widgetKind)) },
				"GET /apis/shop.example/v1/namespaces/shop/widgets/w accept json"},
			{func() error { return w.Get(ctx, shopKey("a"), metadataOf(configMapKind, "")) },
				"GET /api/v1/namespaces/shop/configmaps/a accept protobuf;as=PartialObjectMetadata,json;as=PartialObjectMetadata,json"},
			{func() error { return w.Get(ctx, shopKey("w"), metadataOf(widgetKind, "")) },
				"GET /apis/shop.example/v1/namespaces/shop/widgets/w accept protobuf;as=PartialObjectMetadata,json;as=PartialObjectMetadata,json"},
			{func() error { return w.Get(ctx, ObjectKey{Name: "shop"}, &corev1.Namespace{}) },
				"GET /api/v1/namespaces/shop accept protobuf, */*"},
			{func() error { return w.Get(ctx, ObjectKey{Namespace: "ignored", Name: "shop"}, &corev1.Namespace{}) },
				"GET /api/v1/namespaces/shop accept protobuf, */*"},
			{func() error {
				return w.Get(ctx, shopKey("a"), &corev1.ConfigMap{}, &GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
			}, "GET /api/v1/namespaces/shop/configmaps/a?resourceVersion=0 accept protobuf, */*"},

			{func() error { return w.List(ctx, &corev1.ConfigMapList{}) },
				"GET /api/v1/configmaps accept protobuf, */*"},
			{func() error { return w.List(ctx, &appsv1.DeploymentList{}, InNamespace("shop")) },
				"GET /apis/apps/v1/namespaces/shop/deployments accept protobuf, */*"},
			{func() error { return w.List(ctx, &corev1.ConfigMapList{}, MatchingLabels{"a": "b"}, HasLabels{"c"}) },
				"GET /api/v1/configmaps?labelSelector=a%3Db%2Cc accept protobuf, */*"},
			{func() error {
				return w.List(ctx, &corev1.ConfigMapList{}, MatchingFields{"metadata.name": "a"}, Limit(5))
			},
				"GET /api/v1/configmaps?fieldSelector=metadata.name%3Da&limit=5 accept protobuf, */*"},
			{func() error {
				return w.List(ctx, &corev1.ConfigMapList{}, &ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0", Limit: 7, LabelSelector: "raw"}})
			}, "GET /api/v1/configmaps?labelSelector=raw&resourceVersion=0 accept protobuf, */*"},
			{func() error { return w.List(ctx, listOf(configMapKind.GroupVersion().WithKind("ConfigMapList"))) },
				"GET /api/v1/configmaps accept json"},
			{func() error { return w.List(ctx, listOf(widgetKind), InNamespace("shop")) },
				"GET /apis/shop.example/v1/namespaces/shop/widgets accept json"},
			{func() error { return w.List(ctx, metadataListOf(widgetKind)) },
				"GET /apis/shop.example/v1/widgets accept protobuf;as=PartialObjectMetadataList,json;as=PartialObjectMetadataList,json"},
		} {
			w.sends(c.want, c.call)
		}
	})
}

func TestWritesSendTheWholeObject(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"), widget("w"))
		ctx := w.Context()
		w.sends("POST /api/v1/namespaces/shop/configmaps accept protobuf, */* send protobuf ...",
			func() error { return w.Create(ctx, configMap("b")) })
		w.sends("POST /api/v1/namespaces/shop/configmaps?dryRun=All&fieldManager=me&fieldValidation=Strict accept protobuf, */* send protobuf ...",
			func() error {
				return w.Create(ctx, configMap("c"), DryRunAll, FieldOwner("me"), FieldValidation("Strict"))
			})
		w.sends(`POST /apis/shop.example/v1/namespaces/shop/widgets accept json send json {"apiVersion":"shop.example/v1","kind":"Widget","metadata":{"name":"x","namespace":"shop"}}`,
			func() error { return w.Create(ctx, widget("x")) })
		w.sends("POST /api/v1/namespaces accept protobuf, */* send protobuf ...",
			func() error { return w.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}) })
		w.sends("PUT /api/v1/namespaces/shop/configmaps/a?fieldManager=me accept protobuf, */* send protobuf ...",
			func() error { return w.Update(ctx, configMap("a"), FieldOwner("me")) })
		existing := widget("w")
		require.NoError(w, w.Get(ctx, shopKey("w"), existing))
		existing.SetManagedFields(nil)
		existing.SetUID("")
		existing.SetCreationTimestamp(metav1.Time{})
		w.sends(`PUT /apis/shop.example/v1/namespaces/shop/widgets/w accept json send json {"apiVersion":"shop.example/v1","kind":"Widget","metadata":{"generation":1,"name":"w","namespace":"shop","resourceVersion":"`+existing.GetResourceVersion()+`"}}`,
			func() error { return w.Update(ctx, existing) })
	})
}

func TestPatchesSendWhatThePatchSays(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"), widget("w"))
		ctx := w.Context()
		merge := RawPatch(types.MergePatchType, []byte(`{"data":{"k":"v"}}`))
		w.sends(`PATCH /api/v1/namespaces/shop/configmaps/a?fieldManager=me&fieldValidation=Warn accept protobuf, */* send merge-patch+json {"data":{"k":"v"}}`,
			func() error { return w.Patch(ctx, configMap("a"), merge, FieldOwner("me"), FieldValidation("Warn")) })
		w.sends(`PATCH /api/v1/namespaces/shop/configmaps/a accept protobuf, */* send strategic-merge-patch+json {"data":{"k":"w"}}`,
			func() error {
				return w.Patch(ctx, configMap("a"), RawPatch(types.StrategicMergePatchType, []byte(`{"data":{"k":"w"}}`)))
			})
		w.sends(`PATCH /api/v1/namespaces/shop/configmaps/a?dryRun=All accept protobuf, */* send json-patch+json [{"op":"remove","path":"/data/k"}]`,
			func() error {
				return w.Patch(ctx, configMap("a"), RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/data/k"}]`)), DryRunAll)
			})
		w.sends(`PATCH /apis/shop.example/v1/namespaces/shop/widgets/w accept json send merge-patch+json {"data":{"k":"v"}}`,
			func() error { return w.Patch(ctx, widget("w"), merge) })
		w.sends(`PATCH /apis/shop.example/v1/namespaces/shop/widgets/w?fieldManager=me accept protobuf;as=PartialObjectMetadata,json;as=PartialObjectMetadata,json send merge-patch+json {"data":{"k":"v"}}`,
			func() error { return w.Patch(ctx, metadataOf(widgetKind, "w"), merge, FieldOwner("me")) })

		typed := configMap("applied")
		typed.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		w.sends(`PATCH /api/v1/namespaces/shop/configmaps/applied?fieldManager=me&force=true accept protobuf, */* send apply-patch+yaml {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"applied","namespace":"shop"}}`,
			func() error { return w.Patch(ctx, typed, Apply, FieldOwner("me"), ForceOwnership) })
	})
}

func TestApplySendsOnlyWhatIsSaid(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx := w.Context()
		w.sends(`PATCH /api/v1/namespaces/shop/configmaps/a?fieldManager=me&force=true accept json, */* send apply-patch+yaml {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"shop"},"data":{"k":"v"}}`,
			func() error {
				return w.Apply(ctx, coreapply.ConfigMap("a", "shop").WithData(map[string]string{"k": "v"}), FieldOwner("me"), ForceOwnership)
			})
		w.sends(`PATCH /apis/shop.example/v1/namespaces/shop/widgets/w?dryRun=All&fieldManager=me accept json send apply-patch+yaml {"apiVersion":"shop.example/v1","kind":"Widget","metadata":{"name":"w","namespace":"shop"}}`,
			func() error {
				return w.Apply(ctx, ApplyConfigurationFromUnstructured(widget("w")), FieldOwner("me"), DryRunAll)
			})
	})
}

func TestDeletesSayHow(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx := w.Context()
		for _, name := range []string{"a", "b", "c"} {
			w.mustCreate(configMap(name), widget(name))
		}
		w.sends("DELETE /api/v1/namespaces/shop/configmaps/a accept protobuf, */* send protobuf ...",
			func() error { return w.Delete(ctx, configMap("a")) })
		w.sends(`DELETE /apis/shop.example/v1/namespaces/shop/widgets/a accept json send json {"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":3,"propagationPolicy":"Orphan","dryRun":["All"]}`,
			func() error {
				return w.Delete(ctx, widget("a"), GracePeriodSeconds(3), PropagationPolicy(metav1.DeletePropagationOrphan), DryRunAll)
			})
		w.sends(`DELETE /apis/shop.example/v1/namespaces/shop/widgets/b accept json, */* send json {"kind":"DeleteOptions","apiVersion":"v1"}`,
			func() error { return w.Delete(ctx, metadataOf(widgetKind, "b")) })
		w.sends("DELETE /api/v1/namespaces/shop/configmaps/b accept protobuf, */* send protobuf ...",
			func() error { return w.Delete(ctx, metadataOf(configMapKind, "b")) })

		w.sends("DELETE /api/v1/namespaces/shop/configmaps?labelSelector=app accept protobuf, */* send protobuf ...",
			func() error { return w.DeleteAllOf(ctx, &corev1.ConfigMap{}, InNamespace("shop"), HasLabels{"app"}) })
		w.sends(`DELETE /apis/shop.example/v1/namespaces/shop/widgets?fieldSelector=metadata.name%3Dc accept json send json {"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`,
			func() error {
				return w.DeleteAllOf(ctx, widget("ignored"), InNamespace("shop"), MatchingFields{"metadata.name": "c"}, PropagationPolicy("Background"))
			})
		w.sends(`DELETE /api/v1/namespaces/shop/configmaps?labelSelector=app%3Dweb accept protobuf,json send json {"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`,
			func() error {
				return w.DeleteAllOf(ctx, metadataOf(configMapKind, ""), InNamespace("shop"), MatchingLabels{"app": "web"}, DryRunAll)
			})
	})
}

func TestSubresourcesAreBehindTheirObject(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(deployment("web"), pod("p"), pod("q"), widget("w"))
		ctx := w.Context()
		const web = "/apis/apps/v1/namespaces/shop/deployments/web"
		w.sends("PUT "+web+"/status?fieldManager=me accept protobuf, */* send protobuf ...",
			func() error { return w.Status().Update(ctx, deployment("web"), FieldOwner("me")) })
		w.sends("PATCH "+web+`/status?dryRun=All accept protobuf, */* send merge-patch+json {"status":{"replicas":2}}`,
			func() error {
				return w.Status().Patch(ctx, deployment("web"), RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":2}}`)), DryRunAll)
			})
		w.sends("PATCH "+web+`/status?fieldManager=me&force=true accept json, */* send apply-patch+yaml {"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop"},"status":{"readyReplicas":1}}`,
			func() error {
				return w.Status().Apply(ctx, appsapply.Deployment("web", "shop").WithStatus(appsapply.DeploymentStatus().WithReadyReplicas(1)), FieldOwner("me"), ForceOwnership)
			})
		w.sends(`PATCH /apis/shop.example/v1/namespaces/shop/widgets/w/status accept protobuf;as=PartialObjectMetadata,json;as=PartialObjectMetadata,json send merge-patch+json {}`,
			func() error {
				return w.Status().Patch(ctx, metadataOf(widgetKind, "w"), RawPatch(types.MergePatchType, []byte("{}")))
			})

		scale := &autoscalingv1.Scale{}
		w.sends("GET "+web+"/scale?resourceVersion=0 accept protobuf, */*",
			func() error {
				return w.SubResource("scale").Get(ctx, deployment("web"), scale, &SubResourceGetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
			})
		w.sends("PUT "+web+"/scale accept protobuf, */* send protobuf ...",
			func() error { return w.SubResource("scale").Update(ctx, deployment("web"), WithSubResourceBody(scale)) })
		w.sends("PATCH "+web+`/scale accept protobuf, */* send merge-patch+json {"spec":{"replicas":3}}`,
			func() error {
				return w.SubResource("scale").Patch(ctx, deployment("web"), RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`)), WithSubResourceBody(scale))
			})
		require.EqualValues(w, 3, scale.Spec.Replicas, "the body gets the answer")
		unstructuredScale := newUnstructured(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		w.sends("GET /apis/shop.example/v1/namespaces/shop/widgets/w/scale accept json",
			func() error { return w.SubResource("scale").Get(ctx, widget("w"), unstructuredScale) })

		w.sends("POST /api/v1/namespaces/shop/pods/p/eviction accept protobuf, */* send protobuf ...",
			func() error { return w.SubResource("eviction").Create(ctx, pod("p"), &policyv1.Eviction{}) })
		w.sends("POST /api/v1/namespaces/shop/pods/q/binding?dryRun=All accept protobuf, */* send protobuf ...",
			func() error {
				return w.SubResource("binding").Create(ctx, pod("q"), &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, DryRunAll)
			})
	})
}

// fakeapi refuses to apply a scale, so that this is about the request only.
func TestABodyOfItsOwnIsAppliedToTheSubresource(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(deployment("web"))
		body := autoscalingapply.Scale().WithSpec(autoscalingapply.ScaleSpec().WithReplicas(4))
		err := w.SubResource("scale").Apply(w.Context(), appsapply.Deployment("web", "shop"), &SubResourceApplyOptions{SubResourceBody: body}, FieldOwner("me"))
		require.Error(w, err)
		require.Equal(w, []string{`PATCH /apis/apps/v1/namespaces/shop/deployments/web/scale?fieldManager=me accept json, */* send apply-patch+yaml {"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":4}}`},
			w.wire.requests())
	})
}

func TestAWatchIsAListThatGoesOn(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"))
		seconds := int64(5)
		watching := func(list ObjectList, opts ...ListOption) func() error {
			return func() error {
				watching, err := w.Watch(w.Context(), list, opts...)
				if err == nil {
					watching.Stop()
				}
				return err
			}
		}
		w.sends("GET /api/v1/namespaces/shop/configmaps?labelSelector=a%3Db&watch=true accept protobuf, */*",
			watching(&corev1.ConfigMapList{}, InNamespace("shop"), MatchingLabels{"a": "b"}))
		w.sends("GET /apis/shop.example/v1/widgets?watch=true accept json",
			watching(listOf(widgetKind)))
		w.sends("GET /api/v1/configmaps?timeout=5s&timeoutSeconds=5&watch=true accept protobuf;as=PartialObjectMetadata,json;as=PartialObjectMetadata,json",
			watching(metadataListOf(configMapKind), &ListOptions{Raw: &metav1.ListOptions{TimeoutSeconds: &seconds}}))
		raw := &metav1.ListOptions{AllowWatchBookmarks: true, ResourceVersion: "1", Limit: 3}
		w.sends("GET /api/v1/configmaps?allowWatchBookmarks=true&limit=3&resourceVersion=1&watch=true accept protobuf, */*",
			watching(&corev1.ConfigMapList{}, &ListOptions{Raw: raw}))
		require.False(w, raw.Watch, "options that the caller keeps must stay as they were: the next list with them would be a watch")
	})
}
