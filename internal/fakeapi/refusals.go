package fakeapi

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// The rules below are those that a controller's author trips over: what a server refuses of a
// Service, a StatefulSet, a role, a ConfigMap and a Secret. Package differential plays each of them
// on a real server, too. Deeper in a spec, the fake believes what it's given.

func validateService(obj, old runtime.Object) field.ErrorList {
	service := obj.(*corev1.Service)
	at := field.NewPath("spec")
	var errs field.ErrorList
	isExternal := service.Spec.Type == corev1.ServiceTypeExternalName
	isHeadless := service.Spec.ClusterIP == corev1.ClusterIPNone
	switch {
	case isExternal && service.Spec.ExternalName == "":
		errs = append(errs, field.Required(at.Child("externalName"), ""))
	case !isExternal && !isHeadless && len(service.Spec.Ports) == 0:
		errs = append(errs, field.Required(at.Child("ports"), ""))
	}
	for i, port := range service.Spec.Ports {
		at := at.Child("ports").Index(i)
		if port.Name == "" && len(service.Spec.Ports) > 1 {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		for _, problem := range validation.IsValidPortNum(int(port.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, problem))
		}
		if port.TargetPort.StrVal != "" {
			continue
		}
		for _, problem := range validation.IsValidPortNum(port.TargetPort.IntValue()) {
			errs = append(errs, field.Invalid(at.Child("targetPort"), port.TargetPort, problem))
		}
	}
	if old == nil {
		return errs
	}
	before := old.(*corev1.Service).Spec
	wasExternal := before.Type == corev1.ServiceTypeExternalName
	if before.ClusterIP != "" && before.ClusterIP != service.Spec.ClusterIP && !isExternal && !wasExternal {
		errs = append(errs, field.Invalid(at.Child("clusterIPs").Index(0), service.Spec.ClusterIP,
			"may not change once set"))
	}
	return errs
}

// validateStatefulSet lets only those fields change that the controller can act on.
func validateStatefulSet(obj, old runtime.Object) field.ErrorList {
	errs := validateWorkload(obj, old)
	if old == nil {
		return errs
	}
	before, rest := old.(*appsv1.StatefulSet).Spec, obj.DeepCopyObject().(*appsv1.StatefulSet).Spec
	rest.Replicas, rest.Ordinals, rest.Template = before.Replicas, before.Ordinals, before.Template
	rest.UpdateStrategy, rest.RevisionHistoryLimit = before.UpdateStrategy, before.RevisionHistoryLimit
	rest.MinReadySeconds = before.MinReadySeconds
	rest.PersistentVolumeClaimRetentionPolicy = before.PersistentVolumeClaimRetentionPolicy
	if !equality.Semantic.DeepEqual(rest, before) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
	}
	return errs
}

func validateRole(obj, _ runtime.Object) field.ErrorList {
	var policies []rbacv1.PolicyRule
	isNamespaced := false
	switch role := obj.(type) {
	case *rbacv1.Role:
		policies, isNamespaced = role.Rules, true
	case *rbacv1.ClusterRole:
		policies = role.Rules
	}
	var errs field.ErrorList
	for i, policy := range policies {
		at := field.NewPath("rules").Index(i)
		required := func(name string, values []string, why string) {
			if len(values) == 0 {
				errs = append(errs, field.Required(at.Child(name), why))
			}
		}
		required("verbs", policy.Verbs, "verbs must contain at least one value")
		if len(policy.NonResourceURLs) == 0 {
			required("apiGroups", policy.APIGroups, "resource rules must supply at least one api group")
			required("resources", policy.Resources, "resource rules must supply at least one resource")
			continue
		}
		urls := at.Child("nonResourceURLs")
		if isNamespaced {
			errs = append(errs, field.Invalid(urls, policy.NonResourceURLs,
				"namespaced rules cannot apply to non-resource URLs"))
		}
		if len(policy.APIGroups)+len(policy.Resources)+len(policy.ResourceNames) > 0 {
			errs = append(errs, field.Invalid(urls, policy.NonResourceURLs,
				"rules cannot apply to both regular resources and non-resource URLs"))
		}
	}
	return errs
}

// validateBinding: a binding can't be turned into one for another role, because whoever may change
// bindings could give more than they have.
func validateBinding(obj, old runtime.Object) field.ErrorList {
	ref, kinds := roleOf(obj)
	at := field.NewPath("roleRef")
	var errs field.ErrorList
	if ref.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(at.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName}))
	}
	if !slices.Contains(kinds, ref.Kind) {
		errs = append(errs, field.NotSupported(at.Child("kind"), ref.Kind, kinds))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	}
	if old == nil {
		return errs
	}
	if before, _ := roleOf(old); ref != before {
		errs = append(errs, field.Invalid(at, ref, "cannot change roleRef"))
	}
	return errs
}

// roleOf is the role that a binding gives, and the kinds that it may have.
func roleOf(binding runtime.Object) (rbacv1.RoleRef, []string) {
	if cluster, ok := binding.(*rbacv1.ClusterRoleBinding); ok {
		return cluster.RoleRef, []string{"ClusterRole"}
	}
	return binding.(*rbacv1.RoleBinding).RoleRef, []string{"Role", "ClusterRole"}
}

// maxData is how many bytes the values of a ConfigMap or Secret may have.
const maxData = corev1.MaxSecretSize

func validateConfigMap(obj, old runtime.Object) field.ErrorList {
	config := obj.(*corev1.ConfigMap)
	size := 0
	at, binary := field.NewPath("data"), field.NewPath("binaryData")
	errs := validateKeys(config.Data, at)
	for key, value := range inorder.Map(config.Data) {
		size += len(value)
		if _, isTwice := config.BinaryData[key]; isTwice {
			errs = append(errs, field.Invalid(at.Key(key), key, "duplicate of key present in binaryData"))
		}
	}
	errs = append(errs, validateKeys(config.BinaryData, binary)...)
	for _, value := range config.BinaryData {
		size += len(value)
	}
	if size > maxData {
		errs = append(errs, field.TooLong(field.NewPath(""), "", maxData))
	}
	return append(errs, validateImmutableData(obj, old)...)
}

func validateSecret(obj, old runtime.Object) field.ErrorList {
	secret := obj.(*corev1.Secret)
	size := 0
	at := field.NewPath("data")
	errs := validateKeys(secret.Data, at)
	for _, value := range secret.Data {
		size += len(value)
	}
	if size > maxData {
		errs = append(errs, field.TooLong(at, "", maxData))
	}
	return append(errs, validateImmutableData(obj, old)...)
}

// validateKeys: a key becomes the name of a file.
func validateKeys[V any](data map[string]V, at *field.Path) (errs field.ErrorList) {
	for key := range inorder.Map(data) {
		for _, problem := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(at.Key(key), key, problem))
		}
	}
	return errs
}
