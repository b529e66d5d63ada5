package fake

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// SubResource implements client.SubResourceClientConstructor.
func (c *likeClient) SubResource(name string) client.SubResourceClient {
	return &likeSubResource{c, name}
}

type likeSubResource struct {
	client *likeClient
	name   string
}

func (s *likeSubResource) unknown(verb string) error {
	return fmt.Errorf("controller-runtime's fake client has no %s of the subresource %q", verb,
		s.name)
}

// Get implements client.SubResourceReader. It also reads the object.
func (s *likeSubResource) Get(
	ctx context.Context, obj, body client.Object, _ ...client.SubResourceGetOption,
) error {
	if s.name != "scale" {
		return s.unknown("get")
	}
	if err := s.client.Get(ctx, keyOf(obj), obj); err != nil {
		return err
	}
	scale, err := asScale(body)
	if err != nil {
		return err
	}
	return readScale(obj, scale)
}

func asScale(body client.Object) (*autoscalingv1.Scale, error) {
	scale, ok := body.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected Scale, got %T", body))
	}
	return scale, nil
}

// Create implements client.SubResourceWriter.
func (s *likeSubResource) Create(
	ctx context.Context, obj, body client.Object, _ ...client.SubResourceCreateOption,
) error {
	switch s.name {
	case "eviction":
		switch body.(type) {
		case *policyv1.Eviction, *policyv1beta1.Eviction:
		default:
			return apierrors.NewBadRequest(
				fmt.Sprintf("got invalid type %T, expected Eviction", body))
		}
		if _, ok := obj.(*corev1.Pod); !ok {
			return apierrors.NewNotFound(schema.GroupResource{}, "")
		}
		return s.client.Delete(ctx, obj)
	case "token":
		request, ok := body.(*authenticationv1.TokenRequest)
		if !ok {
			return apierrors.NewBadRequest(
				fmt.Sprintf("got invalid type %T, expected TokenRequest", body))
		}
		if _, ok := obj.(*corev1.ServiceAccount); !ok {
			return apierrors.NewNotFound(schema.GroupResource{}, "")
		}
		request.Status.Token = "fake-token"
		request.Status.ExpirationTimestamp = metav1.Date(6041, 1, 1, 0, 0, 0, 0, time.UTC)
		return s.client.Get(ctx, keyOf(obj), obj)
	}
	return s.unknown("create")
}

// Update implements client.SubResourceWriter. Any name but scale means the status.
func (s *likeSubResource) Update(
	ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	options := client.SubResourceUpdateOptions{}
	options.ApplyOptions(opts)
	if s.name != "scale" {
		if options.SubResourceBody != nil {
			obj = options.SubResourceBody
		}
		return s.client.update(obj, true, &options.UpdateOptions)
	}
	if anyvalue.IsNil(obj) {
		return fmt.Errorf("the object is nil (%T), and of no kind", obj)
	}
	probe := obj.DeepCopyObject().(client.Object)
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(obj), probe); err != nil {
		return err
	}
	if options.SubResourceBody == nil {
		return apierrors.NewBadRequest("missing SubResourceBody")
	}
	scale, err := asScale(options.SubResourceBody)
	if err != nil {
		return err
	}
	if err := writeScale(obj, scale.Spec.Replicas); err != nil {
		return err
	}
	return s.client.update(obj, false, &options.UpdateOptions)
}

// Patch implements client.SubResourceWriter. Any name but status means the object.
func (s *likeSubResource) Patch(
	_ context.Context, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption,
) error {
	options := client.SubResourcePatchOptions{}
	options.ApplyOptions(opts)
	if options.SubResourceBody != nil {
		obj = options.SubResourceBody
	}
	return s.client.patch(obj, patch, s.name == "status", &options.PatchOptions)
}

// Apply implements client.SubResourceWriter.
func (s *likeSubResource) Apply(
	ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	options := &client.SubResourceApplyOptions{}
	options.ApplyOpts(opts)
	obj, err := asUnstructured(config)
	if err != nil {
		return err
	}
	switch s.name {
	case "scale":
		return s.applyScale(ctx, obj, config, options)
	case "status":
		if options.SubResourceBody != nil {
			if obj, err = asUnstructured(options.SubResourceBody); err != nil {
				return err
			}
		}
		raw := &client.PatchOptions{Raw: options.AsPatchOptions()}
		if err := s.client.patch(obj, wholeObject{}, true, raw); err != nil {
			return err
		}
		return answer(obj, config)
	}
	return s.unknown("apply")
}

// applyScale needs a Go type, and answers with the object instead of its scale.
func (s *likeSubResource) applyScale(
	ctx context.Context, obj *unstructured.Unstructured, config runtime.ApplyConfiguration,
	options *client.SubResourceApplyOptions,
) error {
	if options.SubResourceBody == nil {
		return apierrors.NewBadRequest("missing SubResourceBody")
	}
	document, err := json.Marshal(options.SubResourceBody)
	if err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{}
	if err := json.Unmarshal(document, scale); err != nil {
		return err
	}
	made, err := s.client.scheme.New(obj.GroupVersionKind())
	if err != nil {
		return err
	}
	scaled, ok := made.(client.Object)
	if !ok {
		return fmt.Errorf("a %T isn't an object", made)
	}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(obj), scaled); err != nil {
		return err
	}
	if err := writeScale(scaled, scale.Spec.Replicas); err != nil {
		return err
	}
	byManager := &client.UpdateOptions{FieldManager: options.FieldManager}
	if err := s.client.update(scaled, false, byManager); err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(scaled)
	if err != nil {
		return err
	}
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(obj.GroupVersionKind())
	return answer(out, config)
}

var errNoScale = errors.New("controller-runtime's fake client scales Deployments, ReplicaSets, " +
	"StatefulSets and ReplicationControllers")

// scalable returns an empty object of a kind that has a scale, or nil.
func scalable(gvk schema.GroupVersionKind) client.Object {
	switch gvk {
	case appsv1.SchemeGroupVersion.WithKind("Deployment"):
		return &appsv1.Deployment{}
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		return &appsv1.ReplicaSet{}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		return &appsv1.StatefulSet{}
	case corev1.SchemeGroupVersion.WithKind("ReplicationController"):
		return &corev1.ReplicationController{}
	}
	return nil
}

// scaleParts are the parts of an object that are in its scale.
type scaleParts struct {
	replicas **int32
	status   int32
	selector string
}

func scalePartsOf(obj client.Object) (scaleParts, error) {
	text := func(s *metav1.LabelSelector) string {
		if s == nil {
			return ""
		}
		return s.String() // which is Go's form
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return scaleParts{&o.Spec.Replicas, o.Status.Replicas, text(o.Spec.Selector)}, nil
	case *appsv1.ReplicaSet:
		return scaleParts{&o.Spec.Replicas, o.Status.Replicas, text(o.Spec.Selector)}, nil
	case *appsv1.StatefulSet:
		return scaleParts{&o.Spec.Replicas, o.Status.Replicas, text(o.Spec.Selector)}, nil
	case *corev1.ReplicationController:
		return scaleParts{&o.Spec.Replicas, o.Status.Replicas,
			labels.Set(o.Spec.Selector).String()}, nil
	}
	return scaleParts{}, fmt.Errorf("scale a %T: %w", obj, errNoScale)
}

func readScale(obj client.Object, scale *autoscalingv1.Scale) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if obj = scalable(u.GroupVersionKind()); obj == nil {
			return fmt.Errorf("scale a %s: %w", u.GroupVersionKind(), errNoScale)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
			return err
		}
	}
	parts, err := scalePartsOf(obj)
	if err != nil {
		return err
	}
	*scale = autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName(),
			UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
			CreationTimestamp: obj.GetCreationTimestamp()},
		Spec:   autoscalingv1.ScaleSpec{Replicas: 1},
		Status: autoscalingv1.ScaleStatus{Replicas: parts.status, Selector: parts.selector},
	}
	if *parts.replicas != nil {
		scale.Spec.Replicas = **parts.replicas
	}
	return nil
}

func writeScale(obj client.Object, replicas int32) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if scalable(u.GroupVersionKind()) == nil {
			return fmt.Errorf("scale a %s: %w", u.GroupVersionKind(), errNoScale)
		}
		return unstructured.SetNestedField(u.Object, int64(replicas), "spec", "replicas")
	}
	parts, err := scalePartsOf(obj)
	if err != nil {
		return err
	}
	*parts.replicas = &replicas
	return nil
}
