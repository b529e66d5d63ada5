package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// loadedVersion is the version of an object that was loaded without one. It is
// so high that it is recognised in a test's output.
const loadedVersion = 999

// Load stores an object as it is, with its status, its version and its deletion
// timestamp, as if it had been written before the history begins. It adds only
// what every stored object has: the kind's defaults, a version, a UID, a
// generation and a creation timestamp. The object is not validated, but for
// what no cluster can hold. The object that is returned is shared and must not
// be changed.
func (s *Server) Load(gvr schema.GroupVersionResource, obj runtime.Object) (metav1.Object, error) {
	s.mu.Lock()
	res := s.resources[gvr]
	s.mu.Unlock()
	if res == nil {
		return nil, fmt.Errorf("load an object: %s is not registered", gvr)
	}
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("load an object of %s: %w", gvr.Resource, err)
	}
	loaded, _, err := decodeObject(res, runtime.ContentTypeJSON, metav1.FieldValidationIgnore, body)
	if err != nil {
		return nil, fmt.Errorf("load an object of %s: %w", gvr.Resource, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := metaOf(loaded)
	if err := s.loadLocked(res, loaded, m); err != nil {
		return nil, fmt.Errorf("load %s %q: %w", res.Kind.Kind, objectKey(m.GetNamespace(), m.GetName()), err)
	}
	return m, nil
}

func (s *Server) loadLocked(res *resource, obj runtime.Object, m metav1.Object) error {
	key := objectKey(m.GetNamespace(), m.GetName())
	switch {
	case m.GetName() == "":
		return errors.New("it has no name")
	case res.ClusterScoped && m.GetNamespace() != "":
		return errors.New("it has a namespace, but the kind is not in namespaces")
	case !res.ClusterScoped && m.GetNamespace() == "":
		return errors.New("it has no namespace, but the kind is in namespaces")
	case m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0:
		return errors.New("it has a deletionTimestamp, but no finalizers: it would be gone")
	case s.store.table(res.storage()).live[key] != nil:
		return apierrors.NewAlreadyExists(res.gr(), m.GetName())
	}
	rv := uint64(loadedVersion)
	if given := m.GetResourceVersion(); given != "" {
		var err error
		if rv, err = strconv.ParseUint(given, 10, 64); err != nil || rv == 0 {
			return fmt.Errorf("resourceVersion %q is not a positive number", given)
		}
	}
	if err := managedfields.ValidateManagedFields(m.GetManagedFields()); err != nil {
		return fmt.Errorf("managedFields: %w", err)
	}
	s.completeLocked(res, m)
	s.store.load(res.storage(), key, obj, rv, labels.Set(m.GetLabels()), res.fieldSet(obj))
	return nil
}

// completeLocked gives an object what a server would have given it.
func (s *Server) completeLocked(res *resource, m metav1.Object) {
	if m.GetUID() == "" {
		m.SetUID(s.uidLocked())
	}
	if m.GetGeneration() == 0 && !res.noGeneration {
		m.SetGeneration(1)
	}
	if created := m.GetCreationTimestamp(); created.IsZero() {
		m.SetCreationTimestamp(seconds(time.Now()))
	}
}
