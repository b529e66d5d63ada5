package fakeapi

import (
	"errors"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const modified = "the object has been modified; please apply your changes to the latest version and try again"

// checkVersion is optimistic concurrency: an update that names a version must
// name the stored one. An update that names none takes the stored one, for
// the kinds that allow it.
func checkVersion(res *resource, obj, old runtime.Object) error {
	m := metaOf(obj)
	rv := m.GetResourceVersion()
	if rv != "" {
		if _, err := strconv.ParseUint(rv, 10, 64); err != nil {
			return err // a 500, as from the real server
		}
	}
	unset := rv == "" || rv == "0"
	switch {
	case unset && res.needsVersion:
		invalid := field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update")
		kind := res.gk()
		kind.Kind = res.Resource
		return apierrors.NewInvalid(kind, m.GetName(), field.ErrorList{invalid})
	case unset:
		m.SetResourceVersion(metaOf(old).GetResourceVersion())
	case rv != metaOf(old).GetResourceVersion():
		return apierrors.NewConflict(res.gr(), m.GetName(), errors.New(modified))
	}
	return nil
}

// prepareUpdate turns what a client sent into what replaces old. obj belongs
// to the caller; old is shared and is not changed.
func prepareUpdate(res *resource, subresource string, obj, old runtime.Object) error {
	m, before := metaOf(obj), metaOf(old)
	m.SetGeneration(before.GetGeneration())
	switch subresource {
	case "status":
		keepAllButStatus(res, obj, old)
	case "finalize":
		statusSection.copy(obj, old)
	case "binding":
	default:
		keepStatus(res, obj, old)
	}
	if m.GetUID() == "" {
		m.SetUID(before.GetUID())
	}
	m.SetCreationTimestamp(before.GetCreationTimestamp())
	m.SetSelfLink("")
	if before.GetDeletionTimestamp() != nil {
		m.SetDeletionTimestamp(before.GetDeletionTimestamp())
	}
	if before.GetDeletionGracePeriodSeconds() != nil && m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	}
	errs := validateUpdate(res, subresource, obj, old)
	if len(errs) > 0 {
		return apierrors.NewInvalid(res.gk(), m.GetName(), errs)
	}
	return nil
}

func validateUpdate(res *resource, subresource string, obj, old runtime.Object) field.ErrorList {
	if subresource == "" {
		return validateObject(res, obj, old)
	}
	// A status is not validated.
	loose := *res
	loose.validate = nil
	return validateObject(&loose, obj, old)
}

// keepStatus is the rule of the main resource: the status stays, and a change of anything else that
// a controller may have to act on is a new generation.
func keepStatus(res *resource, obj, old runtime.Object) {
	if res.Status {
		statusSection.copy(obj, old)
	}
	if res.updating != nil {
		res.updating(obj, old)
	}
	if res.noGeneration {
		return
	}
	changed := !contentEqual(obj, old)
	if _, custom := obj.(*unstructured.Unstructured); custom && !res.Status {
		// Without the split, a status is a field like any other.
		changed = changed || !statusSection.equal(obj, old)
	}
	changed = changed || res.countsAnnotations && !sameAnnotations(obj, old)
	changed = changed || res.countsLabels && !sameLabels(obj, old)
	if changed {
		metaOf(obj).SetGeneration(metaOf(old).GetGeneration() + 1)
	}
}

// keepAllButStatus is the rule of the status subresource. Built-in kinds let
// through changes of metadata, which surprises many; custom resources do not.
func keepAllButStatus(res *resource, obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		keepAllButCustomStatus(u, old.(*unstructured.Unstructured))
		return
	}
	specSection.copy(obj, old)
	if res.statusKeepsLabels {
		metaOf(obj).SetLabels(copyMap(metaOf(old).GetLabels()))
	}
	if res.updatingStatus != nil {
		res.updatingStatus(obj, old)
	}
}

func keepAllButCustomStatus(obj, old *unstructured.Unstructured) {
	status, found := obj.Object["status"]
	// Field ownership was computed for this write, so it stays.
	managed := obj.GetManagedFields()
	obj.Object = old.DeepCopy().Object
	obj.SetManagedFields(managed)
	if found {
		obj.Object["status"] = status
	} else {
		delete(obj.Object, "status")
	}
}

// diesByUpdate says whether an update that removed the last finalizer
// completes a deletion.
func diesByUpdate(res *resource, obj, old runtime.Object) bool {
	if len(metaOf(obj).GetFinalizers()) > 0 || metaOf(old).GetDeletionTimestamp() == nil {
		return false
	}
	if res.gr() == namespaces && len(namespaceFinalizers(obj)) > 0 {
		return false
	}
	grace := metaOf(old).GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// dedupOwners removes repeated owner references, which the server drops with a
// warning instead of refusing.
func dedupOwners(obj runtime.Object) (warning string) {
	m := metaOf(obj)
	owners := m.GetOwnerReferences()
	kept := owners[:0:0]
	var repeated []string
	for _, owner := range owners {
		duplicate := false
		for _, other := range kept {
			duplicate = duplicate || equality.Semantic.DeepEqual(owner, other)
		}
		if !duplicate {
			kept = append(kept, owner)
		} else {
			repeated = append(repeated, string(owner.UID))
		}
	}
	if len(kept) == len(owners) {
		return ""
	}
	m.SetOwnerReferences(kept)
	return ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " + strings.Join(repeated, ", ")
}
