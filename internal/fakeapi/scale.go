package fakeapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The scale subresource shows any kind with replicas as one and the same small
// object, so that an autoscaler need not know the kind.

var scaleGVK = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaleOf is the Scale of an object.
func scaleOf(res *resource, obj runtime.Object) (*autoscalingv1.Scale, error) {
	content, err := toMap(obj)
	if err != nil {
		return nil, err
	}
	m := metaOf(obj)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUID(),
		ResourceVersion: m.GetResourceVersion(), CreationTimestamp: m.GetCreationTimestamp(),
	}}
	scale.SetGroupVersionKind(scaleGVK)
	spec, found, _ := unstructured.NestedInt64(content, splitPath(res.Scale.SpecReplicas)...)
	if !found && res.typed {
		spec = 1 // a server without defaults has objects without it
	}
	status, _, _ := unstructured.NestedInt64(content, splitPath(res.Scale.StatusReplicas)...)
	scale.Spec.Replicas, scale.Status.Replicas = int32(spec), int32(status)
	if rc, ok := obj.(*corev1.ReplicationController); ok { // its selector has the old form
		scale.Status.Selector = labels.Set(rc.Spec.Selector).String()
		return scale, nil
	}
	if res.Scale.LabelSelector == "" {
		return scale, nil
	}
	selector, _, _ := unstructured.NestedFieldNoCopy(content, splitPath(res.Scale.LabelSelector)...)
	switch selector := selector.(type) {
	case string:
		scale.Status.Selector = selector
	case map[string]any:
		var parsed metav1.LabelSelector
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &parsed); err != nil {
			return nil, fmt.Errorf("read the selector of %s: %w", m.GetName(), err)
		}
		scale.Status.Selector = metav1.FormatLabelSelector(&parsed)
	}
	return scale, nil
}

// withScale returns old with the replicas that the Scale asks for.
func withScale(res *resource, old runtime.Object, scale *autoscalingv1.Scale) (runtime.Object, error) {
	if scale.Spec.Replicas < 0 {
		return nil, apierrors.NewInvalid(scaleGVK.GroupKind(), scale.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0")})
	}
	content, err := toMap(old)
	if err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedField(content, int64(scale.Spec.Replicas), splitPath(res.Scale.SpecReplicas)...); err != nil {
		return nil, fmt.Errorf("scale %s: %w", scale.Name, err)
	}
	if !res.typed {
		return &unstructured.Unstructured{Object: content}, nil
	}
	next := res.new()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, next); err != nil {
		return nil, fmt.Errorf("scale %s: %w", scale.Name, err)
	}
	next.GetObjectKind().SetGroupVersionKind(res.gvk())
	return next, nil
}

// scaleResource is the Scale as a kind of its own, for decoding and patching.
var scaleResource = &resource{shared: true, Kind: Kind{Group: scaleGVK.Group, Version: scaleGVK.Version, Kind: scaleGVK.Kind, Resource: "scales"}, typed: true}

// serveScale answers all requests to a scale subresource.
func (s *Server) serveScale(a answer, res *resource, r Request, hr *http.Request) error {
	a.format.metadataOnly = false
	if r.Verb == "get" {
		v, err := s.find(hr.Context(), res, r, 0)
		if err != nil {
			return err
		}
		scale, err := scaleOf(res, v.obj)
		if err != nil {
			return err
		}
		a.object(http.StatusOK, scale)
		return nil
	}
	change, dryRun, err := s.readScaleChange(res, r, hr)
	if err != nil {
		return err
	}
	out, _, err := s.update(updating{res: res, subresource: "", namespace: r.Namespace, name: r.Name, dryRun: dryRun,
		mutate: func(old runtime.Object) (runtime.Object, error) { return scaled(res, old, change) }})
	if err != nil {
		return err
	}
	scale, err := scaleOf(res, out)
	if err != nil {
		return err
	}
	a.object(http.StatusOK, scale)
	return nil
}

// scaled returns old as it is after a change of its Scale. The owner of the replicas field is the
// same in both.
func scaled(res *resource, old runtime.Object, change scaleChange) (runtime.Object, error) {
	before, err := scaleOf(res, old)
	if err != nil {
		return nil, err
	}
	replicas, err := fieldpath.MakePath(pathElements(res.Scale.SpecReplicas)...)
	if err != nil {
		return nil, fmt.Errorf("scale %s: %w", before.Name, err)
	}
	owners := managedfields.NewScaleHandler(metaOf(old).GetManagedFields(), res.gvk().GroupVersion(),
		managedfields.ResourcePathMappings{res.apiVersion(): replicas})
	if before.ManagedFields, err = owners.ToSubresource(); err != nil {
		return nil, fmt.Errorf("scale %s: %w", before.Name, err)
	}
	after, err := change(before)
	if err != nil {
		return nil, err
	}
	if rv := after.ResourceVersion; rv != "" && rv != "0" && rv != before.ResourceVersion {
		if _, err := strconv.ParseUint(rv, 10, 64); err != nil {
			return nil, err
		}
		return nil, apierrors.NewConflict(res.gr(), before.Name, errors.New(modified))
	}
	next, err := withScale(res, old, after)
	if err != nil {
		return nil, err
	}
	managed, err := owners.ToParent(after.ManagedFields)
	if err != nil {
		return nil, fmt.Errorf("scale %s: %w", before.Name, err)
	}
	metaOf(next).SetManagedFields(managed)
	return next, nil
}

func pathElements(path string) (out []any) {
	for _, part := range splitPath(path) {
		out = append(out, part)
	}
	return out
}

// A scaleChange is what a request makes of a Scale, and of its managedFields.
type scaleChange func(before *autoscalingv1.Scale) (*autoscalingv1.Scale, error)

// readScaleChange reads a PUT or PATCH of a Scale.
func (s *Server) readScaleChange(res *resource, r Request, hr *http.Request) (change scaleChange, dryRun bool, err error) {
	if r.Verb == "patch" {
		p, dryRun, err := readPatch(scaleResource, r, hr)
		if err != nil {
			return nil, false, err
		}
		return func(before *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
			after, _, err := s.patched(scaleResource, r, p, before)
			if err == nil && p.kind == types.ApplyPatchType && !res.typed {
				// A defect of the real server, on which a program must not rely.
				err = fmt.Errorf("failed to convert new object (/%s; %s) to proper version: request to convert CR to an invalid group/version: %s",
					r.Name, scaleGVK, scaleGVK.GroupVersion())
			}
			if err != nil {
				return nil, err
			}
			return after.(*autoscalingv1.Scale), nil
		}, dryRun, nil
	}
	body, err := readBody(hr)
	if err != nil {
		return nil, false, err
	}
	obj, _, err := decodeObject(scaleResource, hr.Header.Get("Content-Type"), "", body)
	if err != nil {
		return nil, false, err
	}
	if err := checkName(obj, r.Namespace, r.Name); err != nil {
		return nil, false, err
	}
	manager := managerName(r.Query.Get("fieldManager"), r.UserAgent)
	return func(before *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
		after, err := s.trackUpdate(scaleResource, "scale", before, obj.DeepCopyObject(), manager)
		if err != nil {
			return nil, err
		}
		return after.(*autoscalingv1.Scale), nil
	}, r.Query.Get("dryRun") != "", nil
}
