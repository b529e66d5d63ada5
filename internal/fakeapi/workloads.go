package fakeapi

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Checks on the kinds that make pods. They catch what a controller under test
// could get wrong and the real server would refuse.

// workloadParts returns what the apps kinds have in common.
func workloadParts(obj runtime.Object) (replicas *int32, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) {
	switch w := obj.(type) {
	case *appsv1.Deployment:
		return w.Spec.Replicas, w.Spec.Selector, &w.Spec.Template
	case *appsv1.ReplicaSet:
		return w.Spec.Replicas, w.Spec.Selector, &w.Spec.Template
	case *appsv1.StatefulSet:
		return w.Spec.Replicas, w.Spec.Selector, &w.Spec.Template
	case *appsv1.DaemonSet:
		return nil, w.Spec.Selector, &w.Spec.Template
	}
	panic(fmt.Sprintf("fakeapi: %T is not a workload", obj))
}

func validateWorkload(obj, old runtime.Object) field.ErrorList {
	replicas, selector, template := workloadParts(obj)
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if _, isStateful := obj.(*appsv1.StatefulSet); old != nil && !isStateful {
		if _, before, _ := workloadParts(old); !equality.Semantic.DeepEqual(selector, before) {
			errs = append(errs, field.Invalid(spec.Child("selector"), selector, "field is immutable").WithOrigin("immutable"))
		}
	}
	if replicas != nil && *replicas < 0 {
		errs = append(errs, field.Invalid(spec.Child("replicas"), *replicas, "must be greater than or equal to 0").WithOrigin("minimum"))
	}
	if selector == nil {
		// Without a selector nothing matches, so there is a second error below.
		errs = append(errs, field.Required(spec.Child("selector"), ""))
	}
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(spec.Child("selector"), selector, "empty selector is invalid for deployment"))
	} else if sel, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		errs = append(errs, field.Invalid(spec.Child("selector"), selector, "invalid label selector"))
	} else if !sel.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	return append(errs, validateContainers(template.Spec.Containers, spec.Child("template", "spec", "containers"))...)
}

func validateController(obj, _ runtime.Object) field.ErrorList {
	rc := obj.(*corev1.ReplicationController)
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if len(rc.Spec.Selector) == 0 {
		errs = append(errs, field.Required(spec.Child("selector"), ""))
	}
	if *rc.Spec.Replicas < 0 {
		errs = append(errs, field.Invalid(spec.Child("replicas"), *rc.Spec.Replicas, "must be greater than or equal to 0").WithOrigin("minimum"))
	}
	if rc.Spec.Template == nil {
		return append(errs, field.Required(spec.Child("template"), ""))
	}
	if !labels.SelectorFromSet(rc.Spec.Selector).Matches(labels.Set(rc.Spec.Template.Labels)) {
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), rc.Spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	return append(errs, validateContainers(rc.Spec.Template.Spec.Containers, spec.Child("template", "spec", "containers"))...)
}

// creatingJob gives the job the selector that tells its pods from all others:
// the server, not the controller, makes it, from the job's own UID.
func creatingJob(obj runtime.Object) {
	job := obj.(*batchv1.Job)
	job.Status = batchv1.JobStatus{}
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return
	}
	// In the real server a job without labels of its own shares the map of its
	// template, so that what is added to one appears in the other.
	shared := equality.Semantic.DeepEqual(job.Labels, job.Spec.Template.Labels)
	if job.Spec.Template.Labels == nil {
		job.Spec.Template.Labels = map[string]string{}
	}
	own := job.Spec.Template.Labels
	// The unprefixed names are the old ones, which the real server keeps.
	orElseKey(own, "job-name", job.Name)
	orElseKey(own, batchv1.JobNameLabel, job.Name)
	orElseKey(own, "controller-uid", string(job.UID))
	orElseKey(own, batchv1.ControllerUidLabel, string(job.UID))
	if shared && len(job.Labels) > 0 {
		job.Labels = copyMap(own)
	}
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	orElseKey(job.Spec.Selector.MatchLabels, batchv1.ControllerUidLabel, string(job.UID))
}

func orElseKey(m map[string]string, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

func validateJob(obj, old runtime.Object) field.ErrorList {
	job := obj.(*batchv1.Job)
	spec := field.NewPath("spec")
	errs := validateContainers(job.Spec.Template.Spec.Containers, spec.Child("template", "spec", "containers"))
	if job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		errs = append(errs, field.Required(spec.Child("template", "spec", "restartPolicy"), `valid values: "OnFailure", "Never"`))
	}
	if old == nil {
		return errs
	}
	before := old.(*batchv1.Job)
	if !equality.Semantic.DeepEqual(job.Spec.Selector, before.Spec.Selector) {
		errs = append(errs, field.Invalid(spec.Child("selector"), job.Spec.Selector, "field is immutable"))
	}
	if !equality.Semantic.DeepEqual(job.Spec.Template, before.Spec.Template) {
		errs = append(errs, field.Invalid(spec.Child("template"), job.Spec.Template, "field is immutable"))
	}
	return errs
}

func jobFields(obj runtime.Object) fields.Set {
	return fields.Set{"status.successful": fmt.Sprint(obj.(*batchv1.Job).Status.Succeeded)}
}

// validateImmutableData holds a ConfigMap or Secret to its promise never to
// change.
func validateImmutableData(obj, old runtime.Object) field.ErrorList {
	if old == nil {
		return nil
	}
	refuse := func(name string) field.ErrorList {
		return field.ErrorList{field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set")}
	}
	var errs field.ErrorList
	switch before := old.(type) {
	case *corev1.ConfigMap:
		now := obj.(*corev1.ConfigMap)
		if before.Immutable == nil || !*before.Immutable {
			return nil
		}
		if now.Immutable == nil || !*now.Immutable {
			errs = append(errs, refuse("immutable")...)
		}
		if !equality.Semantic.DeepEqual(now.Data, before.Data) {
			errs = append(errs, refuse("data")...)
		}
		if !equality.Semantic.DeepEqual(now.BinaryData, before.BinaryData) {
			errs = append(errs, refuse("binaryData")...)
		}
	case *corev1.Secret:
		now := obj.(*corev1.Secret)
		if now.Type != before.Type {
			errs = append(errs, field.Invalid(field.NewPath("type"), now.Type, "field is immutable"))
		}
		if before.Immutable == nil || !*before.Immutable {
			return errs
		}
		if now.Immutable == nil || !*now.Immutable {
			errs = append(errs, refuse("immutable")...)
		}
		if !equality.Semantic.DeepEqual(now.Data, before.Data) {
			errs = append(errs, refuse("data")...)
		}
	}
	return errs
}
