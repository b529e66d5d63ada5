package fakeapi

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Namespaces are deleted in their own way: the object stays, in the phase
// Terminating, until a controller has emptied it and has removed the entry in
// spec.finalizers through the finalize subresource.

var namespaces = schema.GroupResource{Resource: "namespaces"}

// bootNamespaces exist from the start.
var bootNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// protectedNamespaces cannot be deleted.
var protectedNamespaces = []string{"default", "kube-public", "kube-system"}

func creatingNamespace(obj runtime.Object) {
	ns := obj.(*corev1.Namespace)
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

func updatingNamespace(obj, old runtime.Object) {
	obj.(*corev1.Namespace).Spec.Finalizers = slices.Clone(old.(*corev1.Namespace).Spec.Finalizers)
}

func namespaceFinalizers(obj runtime.Object) []corev1.FinalizerName {
	return obj.(*corev1.Namespace).Spec.Finalizers
}

// prepareNamespaceDelete decides the deletion of a namespace.
func prepareNamespaceDelete(res *resource, old runtime.Object, options *metav1.DeleteOptions, now time.Time) (deletion, error) {
	ns := old.(*corev1.Namespace)
	if slices.Contains(protectedNamespaces, ns.Name) {
		return deletion{}, apierrors.NewForbidden(namespaces, ns.Name, fmt.Errorf("this namespace may not be deleted"))
	}
	if err := checkNamespacePreconditions(ns, options.Preconditions); err != nil {
		return deletion{}, err
	}
	if ns.DeletionTimestamp == nil {
		ns = ns.DeepCopy()
		stamp := seconds(now)
		ns.DeletionTimestamp = &stamp
		ns.Status.Phase = corev1.NamespaceTerminating
		ns.Finalizers = collectorFinalizers(res, ns.Finalizers, options)
		return deletion{marked: ns}, nil
	}
	if len(ns.Spec.Finalizers) > 0 {
		return deletion{}, nil
	}
	return prepareDelete(res, old, options, now)
}

// checkNamespacePreconditions is checkPreconditions in the words that the real
// server has for namespaces.
func checkNamespacePreconditions(ns *corev1.Namespace, p *metav1.Preconditions) error {
	if p != nil && p.UID != nil && *p.UID != ns.UID {
		return apierrors.NewConflict(namespaces, ns.Name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, ns.UID)) //nolint:staticcheck // sent to clients
	}
	if p != nil && p.ResourceVersion != nil && *p.ResourceVersion != ns.ResourceVersion {
		return apierrors.NewConflict(namespaces, ns.Name,
			fmt.Errorf("Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *p.ResourceVersion, ns.ResourceVersion)) //nolint:staticcheck // sent to clients
	}
	return nil
}

// finalizeNamespaceLocked plays the namespace controller, if asked to: it
// deletes what is in a terminating namespace, and the namespace once it is
// empty. Content with finalizers keeps it, as in a real cluster. It is called
// after every deletion, its own ones included, which it ignores.
func (s *Server) finalizeNamespaceLocked(name string) {
	v := s.store.table(namespaces).live[name]
	if !s.options.FinalizeNamespaces || s.emptying || v == nil || metaOf(v.obj).GetDeletionTimestamp() == nil {
		return
	}
	s.emptying = true
	empty := s.emptyNamespaceLocked(name)
	s.emptying = false
	if !empty {
		return
	}
	ns := v.obj.(*corev1.Namespace).DeepCopy()
	ns.Spec.Finalizers = nil
	res := s.resources[schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}]
	s.putLocked(res, name, ns)
	if len(ns.Finalizers) == 0 {
		s.removeLocked(res, name)
	}
}

// emptyNamespaceLocked deletes the content of a namespace and says whether
// all of it is gone.
func (s *Server) emptyNamespaceLocked(name string) bool {
	empty := true
	for _, res := range s.sortedResourcesLocked() {
		if res.ClusterScoped {
			continue
		}
		t := s.store.table(res.storage())
		for _, key := range slices.Clone(span(t.keys, name+"/")) {
			if metaOf(t.live[key].obj).GetDeletionTimestamp() == nil {
				// The options are valid and the object exists, so this cannot fail.
				_, _, _ = s.deleteLocked(res, key, key[len(name)+1:], &metav1.DeleteOptions{})
			}
			empty = empty && t.live[key] == nil
		}
	}
	return empty
}
