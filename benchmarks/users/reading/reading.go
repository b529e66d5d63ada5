// Package reading makes clients and wraps them.
package reading

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Open makes a client of clients.
func Open(cached client.Reader) (client.Client, error) {
	settings, err := config.GetConfig()
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(settings)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(settings, httpClient)
	if err != nil {
		return nil, err
	}
	c, err := client.New(settings, client.Options{
		HTTPClient: httpClient, Mapper: mapper,
		Cache: &client.CacheOptions{Reader: cached, DisableFor: []client.Object{&corev1.Secret{}}, Unstructured: true},
	})
	if err != nil {
		return nil, err
	}
	c = client.NewNamespacedClient(client.NewDryRunClient(c), "shop")
	return client.WithFieldValidation(client.WithFieldOwner(c, "reader"), metav1.FieldValidationStrict), nil
}

// Counting is a client that counts, made in both common ways.
type Counting struct {
	client.Client
	Gets, Lists int
}

func (c *Counting) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c.Gets++
	return c.Client.Get(ctx, key, obj, opts...)
}

func (c *Counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.Lists++
	return c.Client.List(ctx, list, append(opts, client.Limit(10))...)
}

// Intercepted does so with functions.
func Intercepted(c client.WithWatch, gets *int) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			*gets++
			return c.Get(ctx, key, obj, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return c.SubResource(name).Update(ctx, obj, opts...)
		},
	})
}

// named is a list option of its own kind, and jsonPatch a patch.
type named string

func (n named) ApplyToList(o *client.ListOptions) {
	o.FieldSelector = fields.OneTermEqualSelector("metadata.name", string(n))
}

type jsonPatch []map[string]any

func (jsonPatch) Type() types.PatchType                    { return types.JSONPatchType }
func (p jsonPatch) Data(obj client.Object) ([]byte, error) { return json.Marshal(p) }

var (
	_ client.ListOption = named("")
	_ client.Patch      = jsonPatch{}
	_ client.GetOption  = &client.GetOptions{}
	_ client.Object     = &corev1.Pod{}
	_ client.ObjectList = &corev1.PodList{}
)

// Verbs makes every kind of call.
func Verbs(ctx context.Context, c client.WithWatch) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "web-"}}
	var zero int64
	calls := []func() error{
		func() error { return c.Create(ctx, pod, client.DryRunAll, &client.CreateOptions{FieldManager: "me"}) },
		func() error { return c.Update(ctx, pod, client.FieldValidation(metav1.FieldValidationWarn)) },
		func() error { return c.Patch(ctx, pod, jsonPatch{{"op": "remove", "path": "/metadata/labels/a"}}) },
		func() error {
			return c.Delete(ctx, pod, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationForeground),
				client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
		},
		func() error { return c.Delete(ctx, pod, &client.DeleteOptions{GracePeriodSeconds: &zero}) },
		func() error {
			return c.DeleteAllOf(ctx, pod, client.InNamespace("shop"), client.MatchingLabels{"a": "b"}, client.GracePeriodSeconds(5),
				&client.DeleteAllOfOptions{ListOptions: client.ListOptions{LabelSelector: labels.Everything()}})
		},
		func() error {
			return c.List(ctx, &corev1.PodList{}, named("a"), client.Continue("x"), client.InNamespace("shop"),
				client.MatchingFieldsSelector{Selector: fields.Everything()}, client.UnsafeDisableDeepCopy, (&client.ListOptions{}).ApplyOptions(nil))
		},
		func() error {
			return c.Apply(ctx, corev1ac.ConfigMap("a", "shop").WithData(map[string]string{"a": "b"}), client.ForceOwnership, client.FieldOwner("me"))
		},
		func() error {
			return c.SubResource("scale").Update(ctx, &appsv1.Deployment{}, client.WithSubResourceBody(&autoscalingv1.Scale{}))
		},
		func() error { return c.SubResource("scale").Get(ctx, &appsv1.Deployment{}, &autoscalingv1.Scale{}) },
		func() error {
			return c.SubResource("token").Create(ctx, &corev1.ServiceAccount{}, &authenticationv1.TokenRequest{})
		},
		func() error {
			return c.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Name: "node"}})
		},
		func() error {
			return c.Status().Patch(ctx, pod, client.MergeFrom(pod.DeepCopy()), client.ForceOwnership)
		},
		func() error {
			return c.Status().Update(ctx, pod, &client.SubResourceUpdateOptions{SubResourceBody: pod})
		},
	}
	for _, call := range calls {
		if err := client.IgnoreNotFound(call()); err != nil {
			return err
		}
	}
	events, err := c.Watch(ctx, &corev1.PodList{}, client.InNamespace("shop"))
	if err != nil {
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if e.Type == watch.Deleted {
			break
		}
	}
	gvk, err := c.GroupVersionKindFor(pod)
	if err != nil || gvk.Kind != "Pod" {
		return err
	}
	if gvk, err = apiutil.GVKForObject(pod, c.Scheme()); err != nil {
		return err
	}
	if _, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		return err
	}
	_, err = c.IsObjectNamespaced(pod)
	return err
}
