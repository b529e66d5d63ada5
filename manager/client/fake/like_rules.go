package fake

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// What the original knows of Kubernetes' kinds, by group. It tries to include more groups than
// these, but writes their names without the dots, so their kinds are treated like custom resources.
var (
	// Kinds in updateWithoutVersion may be updated without a version, which is never a conflict.
	updateWithoutVersion = map[string][]string{
		"": {"ConfigMap", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume",
			"PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController",
			"ResourceQuota", "Secret", "Service", "ServiceAccount"},
		"apps": {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet",
			"StatefulSet"},
		"autoscaling": {"HorizontalPodAutoscaler"},
		"batch":       {"CronJob", "Job"},
		"policy":      {"PodSecurityPolicy"},
		"rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding", "Role",
			"RoleBinding"},
	}
	// An update of a missing object creates it, if its kind is in createByUpdate.
	createByUpdate = map[string][]string{"": {"Event", "LimitRange", "Service"}}
	// Kinds in separateStatus need no WithStatusSubresource.
	separateStatus = map[schema.GroupVersion][]string{
		{Version: "v1"}: {"Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod",
			"ReplicationController", "Service"},
		{Group: "apiextensions.k8s.io", Version: "v1"}: {"CustomResourceDefinition"},
		{Group: "apps", Version: "v1"}: {"DaemonSet", "Deployment", "ReplicaSet",
			"StatefulSet"},
		{Group: "autoscaling", Version: "v1"}:         {"HorizontalPodAutoscaler"},
		{Group: "batch", Version: "v1"}:               {"CronJob", "Job"},
		{Group: "certificates.k8s.io", Version: "v1"}: {"CertificateSigningRequest"},
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: {"FlowSchema",
			"PriorityLevelConfiguration"},
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta2"}: {"FlowSchema",
			"PriorityLevelConfiguration"},
		{Group: "networking.k8s.io", Version: "v1"}: {"Ingress", "NetworkPolicy"},
		{Group: "policy", Version: "v1"}:            {"PodDisruptionBudget"},
		{Group: "storage.k8s.io", Version: "v1"}:    {"VolumeAttachment"},
	}
)

func (c *likeClient) isSeparate(gvk schema.GroupVersionKind) bool {
	return c.separate[gvk] || slices.Contains(separateStatus[gvk.GroupVersion()], gvk.Kind)
}

func mayCreate(gvk schema.GroupVersionKind) bool {
	return slices.Contains(createByUpdate[gvk.Group], gvk.Kind)
}

// likeWrite is a write of an object that may already exist.
type likeWrite struct {
	gvk       schema.GroupVersionKind // where it's stored; the object may say another one
	namespace string
	obj       runtime.Object
	manager   string // of fields
	status    bool   // through the subresource
	patch     bool   // or an apply
	deletes   bool   // it sets the deletionTimestamp
	mayCreate bool
}

// fate is what happens to the stored object.
type fate int

const (
	changes fate = iota
	begins       // there's none, and the write creates it
	ends         // it has lost its last finalizer, and is deleted
)

// reviseLocked turns the object of a write into the one to store. The object is the caller's, and
// shows how far the write got, even if it fails.
func (c *likeClient) reviseLocked(w likeWrite) (next runtime.Object, becomes fate, err error) {
	m, err := meta.Accessor(w.obj)
	if err != nil {
		return nil, changes, err
	}
	gvk, err := apiutil.GVKForObject(w.obj, c.scheme)
	if err != nil {
		return nil, changes, err
	}
	if m.GetName() == "" {
		return nil, changes, withoutName(gvk)
	}
	gvr := gvrOf(w.gvk)
	old, err := c.store.get(gvr, client.ObjectKey{Namespace: w.namespace, Name: m.GetName()})
	switch {
	case err != nil && w.mayCreate:
		return w.obj, begins, nil
	case err != nil:
		return nil, changes, err
	case c.isSeparate(gvk):
		err = separateStatuses(w.obj, old, w.status)
	case w.status:
		err = apierrors.NewNotFound(gvr.GroupResource(), m.GetName())
	}
	if err != nil {
		return nil, changes, err
	}
	before := old.(metav1.Object)
	free := w.patch || slices.Contains(updateWithoutVersion[gvk.Group], gvk.Kind)
	if m.GetResourceVersion() == "" && free {
		m.SetResourceVersion(before.GetResourceVersion())
	}
	if m.GetResourceVersion() != before.GetResourceVersion() {
		return nil, changes, apierrors.NewConflict(gvr.GroupResource(), m.GetName(),
			errors.New("object was modified"))
	}
	version, err := c.store.versionAfter(before.GetResourceVersion())
	if err != nil {
		return nil, changes, err
	}
	m.SetResourceVersion(version)
	if !w.deletes && !sameMoment(m.GetDeletionTimestamp(), before.GetDeletionTimestamp()) {
		return nil, changes, fmt.Errorf("update %s: metadata.deletionTimestamp field is immutable",
			m.GetName())
	}
	if !m.GetDeletionTimestamp().IsZero() && len(m.GetFinalizers()) == 0 {
		return nil, ends, c.store.remove(gvr, client.ObjectKey{Namespace: m.GetNamespace(),
			Name: m.GetName()})
	}
	next, err = c.kinds.inGoType(w.obj)
	return next, changes, err
}

func withoutName(gvk schema.GroupVersionKind) error {
	return apierrors.NewInvalid(gvk.GroupKind(), "", field.ErrorList{
		field.Required(field.NewPath("metadata.name"), "name is required")})
}

// versionAfter is one more than a version, in decimal. An object that a patch of YAML has created
// has none.
func (s *likeStore) versionAfter(version string) (string, error) {
	if s.oneCounter {
		return s.version(""), nil
	}
	if version == "" {
		version = "0"
	}
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return "", fmt.Errorf("resourceVersion %q is no number: %w", version, err)
	}
	return strconv.FormatUint(number+1, 10), nil
}

// sameMoment ignores the fractions that JSON cuts off.
func sameMoment(a, b *metav1.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Sub(b.Time).Abs() < time.Second
}

// separateStatuses keeps all of the stored object but the status, or only the status. Version and
// managedFields stay unchanged.
func separateStatuses(obj, old runtime.Object, statusOnly bool) error {
	stored, err := toMap(old)
	if err != nil {
		return err
	}
	given, err := toMap(obj)
	if err != nil {
		return err
	}
	if !statusOnly {
		given["status"] = stored["status"]
		return fromMap(given, obj)
	}
	m := obj.(metav1.Object)
	version, fields := m.GetResourceVersion(), m.GetManagedFields()
	stored["status"] = given["status"]
	if err := fromMap(stored, old); err != nil { // the status gets the form of old's Go type
		return err
	}
	if stored, err = toMap(old); err != nil {
		return err
	}
	if err := fromMap(stored, obj); err != nil {
		return err
	}
	m.SetResourceVersion(version)
	m.SetManagedFields(fields)
	return nil
}

// toMap shares the content of an unstructured object.
func toMap(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	document, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	return content, json.Unmarshal(document, &content)
}

func fromMap(content map[string]any, obj runtime.Object) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = content
		return nil
	}
	document, err := json.Marshal(content)
	if err != nil {
		return err
	}
	clearOut(obj)
	return json.Unmarshal(document, obj)
}
