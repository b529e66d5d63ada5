package fakeapi

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The functions of this file, update.go and delete.go are the rules of
// writing: given the object that a client sent and the one that is stored,
// what is stored next. They read no clock, draw no random number and touch no
// store; whatever they need of that is an argument.

// birth is what the server adds to a new object.
type birth struct {
	uid    types.UID
	now    time.Time
	suffix string // ends a generated name
}

// wipeSystemFields drops metadata that only the server may set. It happens before managedFields are
// computed, so that these fields have no owner.
func wipeSystemFields(res *resource, obj runtime.Object) {
	m := metaOf(obj)
	m.SetDeletionTimestamp(nil)
	m.SetCreationTimestamp(metav1.Time{})
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetUID("")
	m.SetSelfLink("")
}

// checkNamespace gives the object the namespace of the request, or refuses if
// it names another one.
func checkNamespace(res *resource, obj runtime.Object, namespace string) error {
	m := metaOf(obj)
	if res.ClusterScoped {
		namespace = ""
	}
	switch m.GetNamespace() {
	case namespace:
	case "":
		m.SetNamespace(namespace)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// prepareCreate turns what a client sent into what is stored. Metadata has
// been wiped, and obj belongs to the caller.
func prepareCreate(res *resource, obj runtime.Object, b birth) error {
	m := metaOf(obj)
	m.SetUID(b.uid)
	m.SetCreationTimestamp(seconds(b.now))
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(generateName(m.GetGenerateName(), b.suffix))
	}
	if !res.noGeneration {
		m.SetGeneration(1)
	}
	switch {
	case res.creating != nil:
		res.creating(obj)
	case res.Status:
		statusSection.clear(obj)
	}
	if res.defaults != nil {
		res.defaults(obj) // again: a cleared status has defaults too
	}
	if errs := validateObject(res, obj, nil); len(errs) > 0 {
		return apierrors.NewInvalid(res.gk(), m.GetName(), errs)
	}
	if m.GetResourceVersion() != "" {
		// The real server answers 500 here, not a 4xx.
		return errors.New("resourceVersion should not be set on objects to be created")
	}
	return nil
}

// maxGeneratedName keeps room for the suffix in the 63 bytes of a DNS label.
const (
	suffixLength     = 5
	maxGeneratedName = 63 - suffixLength
)

func generateName(base, suffix string) string {
	if len(base) > maxGeneratedName {
		base = base[:maxGeneratedName]
	}
	return base + suffix
}

// validateObject checks metadata and the kind's own rules. old is nil for a
// new object.
func validateObject(res *resource, obj, old runtime.Object) field.ErrorList {
	m := metaOf(obj)
	name := res.name
	if name == nil {
		name = apivalidation.NameIsDNSSubdomain
	}
	at := field.NewPath("metadata")
	var errs field.ErrorList
	if old == nil {
		errs = apivalidation.ValidateObjectMetaAccessor(m, !res.ClusterScoped, name, at)
	} else {
		// Names of stored objects are not checked again: rules may have become
		// stricter since.
		asBefore := func(string, bool) []string { return nil }
		errs = apivalidation.ValidateObjectMetaAccessor(m, !res.ClusterScoped, asBefore, at)
		changes := apivalidation.ValidateObjectMetaAccessorUpdate(m, metaOf(old), at)
		// The real server checks this in two places and reports it twice.
		errs = append(append(errs, changes...), changes...)
	}
	if res.typed {
		errs = append(errs, validateFinalizers(m.GetFinalizers(), at.Child("finalizers"))...)
	}
	if res.validate != nil {
		errs = append(errs, res.validate(obj, old)...)
	}
	return errs
}

// seconds is the precision of times in the API.
func seconds(t time.Time) metav1.Time {
	return metav1.NewTime(t.UTC().Truncate(time.Second))
}

// admitCreate refuses new objects in a namespace that is missing or going
// away. namespace is the stored Namespace, or nil.
func admitCreate(res *resource, obj runtime.Object, namespace runtime.Object) error {
	m := metaOf(obj)
	if res.ClusterScoped {
		return nil
	}
	if namespace == nil {
		return apierrors.NewNotFound(namespaces, m.GetNamespace())
	}
	if metaOf(namespace).GetDeletionTimestamp() == nil {
		return nil
	}
	name := m.GetName()
	if name == "" {
		name = m.GetGenerateName()
	}
	err := apierrors.NewForbidden(res.gr(), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", m.GetNamespace()))
	// Controllers look for this cause: it tells "give up" from "no permission".
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    "NamespaceTerminating",
		Message: fmt.Sprintf("namespace %s is being terminated", m.GetNamespace()),
		Field:   "metadata.namespace",
	})
	return err
}

// checkName holds the name in the body to the name in the URL.
func checkName(obj runtime.Object, namespace, name string) error {
	m := metaOf(obj)
	switch got := m.GetName(); {
	case got == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	case got != name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", got, name))
	case namespace != "" && m.GetNamespace() != "" && !strings.EqualFold(m.GetNamespace(), namespace):
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the object (%s) does not match the namespace on the request (%s)", m.GetNamespace(), namespace))
	}
	return nil
}

// validateFinalizers: on built-in kinds a finalizer names the domain of its
// owner, unless it is one of the server's own.
func validateFinalizers(finalizers []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, f := range finalizers {
		switch f {
		case "kubernetes", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
			continue
		}
		if !strings.Contains(f, "/") {
			errs = append(errs, field.Invalid(at.Index(i), f, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}
