package fake

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// load puts an object of the builder, or the items of a list, into the store. The name may be
// missing; a version never is, and is written into the caller's object.
func (c *likeClient) load(obj runtime.Object) error {
	items := []runtime.Object{obj}
	if meta.IsListType(obj) {
		var err error
		if items, err = meta.ExtractList(obj); err != nil {
			return err
		}
	}
	for _, item := range items {
		if err := c.loadOne(item); err != nil {
			return err
		}
	}
	return nil
}

func (c *likeClient) loadOne(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 {
		return fmt.Errorf("%s has a deletionTimestamp, but no finalizers: it would be gone",
			m.GetName())
	}
	if m.GetResourceVersion() == "" {
		m.SetResourceVersion(c.store.version("999"))
	}
	if err := managedfields.ValidateManagedFields(m.GetManagedFields()); err != nil {
		return fmt.Errorf("managedFields of %s: %w", m.GetName(), err)
	}
	if obj, err = c.kinds.inGoType(obj); err != nil {
		return err
	}
	kinds, _, err := c.scheme.ObjectKinds(obj)
	if partial, ok := obj.(*metav1.PartialObjectMetadata); ok {
		var gvk schema.GroupVersionKind
		gvk, err = apiutil.GVKForObject(partial, c.scheme)
		kinds = []schema.GroupVersionKind{gvk}
		c.kinds.meet(gvk, partial)
	}
	if err != nil {
		return err
	}
	for _, gvk := range kinds {
		if err := c.store.create(gvrOf(gvk), obj, m.GetNamespace()); err != nil {
			return err
		}
	}
	return nil
}

// Of a name, 5 letters are random, and 63 are all.
const (
	randomLetters   = 5
	generatedBase   = 63 - randomLetters
	generatingTries = 7
)

// Create implements client.Writer.
func (c *likeClient) Create(
	_ context.Context, obj client.Object, opts ...client.CreateOption,
) error {
	if err := c.meet(obj); err != nil {
		return err
	}
	options := &client.CreateOptions{}
	options.ApplyOptions(opts)
	if isDry(options.DryRun) {
		return nil
	}
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return err
	}
	tries, base := 1, ""
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		tries, base = generatingTries, obj.GetGenerateName()
		base = base[:min(len(base), generatedBase)]
	}
	if !obj.GetDeletionTimestamp().IsZero() {
		obj.SetDeletionTimestamp(nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for range tries {
		if base != "" {
			obj.SetName(base + rand.String(randomLetters))
		}
		err = c.createLocked(gvk, obj, obj.GetNamespace(), options.AsCreateOptions().FieldManager)
		if !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		showKind(obj, gvk)
		return err
	}
	c.leave(obj, gvk)
	return nil
}

func isDry(run []string) bool { return slices.Contains(run, metav1.DryRunAll) }

// createLocked stores a new object.
func (c *likeClient) createLocked(
	gvk schema.GroupVersionKind, obj runtime.Object, namespace, manager string,
) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if m.GetName() == "" {
		return withoutName(gvk)
	}
	if m.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("resourceVersion can not be set for Create requests")
	}
	m.SetResourceVersion(c.store.version("1"))
	stored, err := c.kinds.inGoType(obj)
	if err != nil {
		return err
	}
	setKind(stored, gvk)
	if stored, err = c.trackLocked(gvk, stored, namespace, manager); err == nil {
		err = c.store.create(gvrOf(gvk), stored, namespace)
	}
	if err != nil {
		m.SetResourceVersion("")
	}
	return err
}

// liveLocked returns the stored object, or an empty one.
func (c *likeClient) liveLocked(
	gvk schema.GroupVersionKind, key client.ObjectKey,
) (live runtime.Object, found bool, err error) {
	if live, err = c.store.get(gvrOf(gvk), key); err == nil {
		return live, true, nil
	}
	if live, err = c.kinds.New(gvk); err != nil {
		return nil, false, err
	}
	setKind(live, gvk)
	return live, false, nil
}

// trackLocked records in obj who owns which fields after a write.
func (c *likeClient) trackLocked(
	gvk schema.GroupVersionKind, obj runtime.Object, namespace, manager string,
) (runtime.Object, error) {
	owners, err := c.kinds.fieldsOf(gvk)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: namespace, Name: obj.(metav1.Object).GetName()}
	live, _, err := c.liveLocked(gvk, key)
	if err != nil {
		return nil, err
	}
	return owners.Update(live, obj, manager)
}

// Update implements client.Writer.
func (c *likeClient) Update(
	_ context.Context, obj client.Object, opts ...client.UpdateOption,
) error {
	return c.update(obj, false, opts...)
}

func (c *likeClient) update(obj client.Object, status bool, opts ...client.UpdateOption) error {
	if err := c.meet(obj); err != nil {
		return err
	}
	options := &client.UpdateOptions{}
	options.ApplyOptions(opts)
	if isDry(options.DryRun) {
		return nil
	}
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The owners of fields stay, unless they are cleared: with a list that is empty, but not nil.
	if status || obj.GetManagedFields() == nil {
		obj.SetManagedFields(nil)
		if old, err := c.store.get(gvrOf(gvk), client.ObjectKeyFromObject(obj)); err == nil {
			obj.SetManagedFields(old.(metav1.Object).GetManagedFields())
		}
	}
	err = c.writeLocked(likeWrite{gvk: gvk, namespace: obj.GetNamespace(), obj: obj, status: status,
		manager:   options.AsUpdateOptions().FieldManager,
		mayCreate: mayCreate(gvk)})
	if err != nil {
		return err
	}
	c.leave(obj, gvk)
	return nil
}

// writeLocked carries out an update or a patch.
func (c *likeClient) writeLocked(w likeWrite) error {
	next, becomes, err := c.reviseLocked(w)
	switch {
	case err != nil || becomes == ends:
		return err
	case becomes == begins:
		return c.createLocked(w.gvk, next, w.namespace, w.manager)
	}
	if u, ok := next.(*unstructured.Unstructured); ok && !w.patch {
		u.SetGroupVersionKind(w.gvk)
	}
	if next, err = c.trackLocked(w.gvk, next, w.namespace, w.manager); err != nil {
		return err
	}
	return c.store.replace(gvrOf(w.gvk), next, w.namespace)
}

// Delete implements client.Writer. It respects finalizers, but ignores propagation, UIDs and grace
// periods.
func (c *likeClient) Delete(
	_ context.Context, obj client.Object, opts ...client.DeleteOption,
) error {
	gvk, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	options := client.DeleteOptions{}
	options.ApplyOptions(opts)
	if isDry(options.DryRun) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key, gvr := client.ObjectKeyFromObject(obj), gvrOf(gvk)
	if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
		old, err := c.store.get(gvr, key)
		if err != nil {
			return err
		}
		if got := old.(metav1.Object).GetResourceVersion(); got != *p.ResourceVersion {
			return apierrors.NewConflict(gvr.GroupResource(), key.Name, fmt.Errorf(
				"the ResourceVersion in the precondition (%s) does not match the ResourceVersion "+
					"in record (%s). The object might have been modified",
				*p.ResourceVersion, got))
		}
	}
	return c.deleteLocked(gvk, key)
}

func (c *likeClient) deleteLocked(gvk schema.GroupVersionKind, key client.ObjectKey) error {
	old, err := c.store.get(gvrOf(gvk), key)
	if err != nil {
		return err
	}
	m := old.(metav1.Object)
	if len(m.GetFinalizers()) == 0 {
		return c.store.remove(gvrOf(gvk), key)
	}
	now := metav1.Now()
	m.SetDeletionTimestamp(&now)
	return c.writeLocked(likeWrite{gvk: gvk, namespace: key.Namespace, obj: old, deletes: true})
}

// DeleteAllOf implements client.Writer.
func (c *likeClient) DeleteAllOf(
	_ context.Context, obj client.Object, opts ...client.DeleteAllOfOption,
) error {
	gvk, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	options := client.DeleteAllOfOptions{}
	options.ApplyOptions(opts)
	if isDry(options.DryRun) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list, err := c.listLocked(gvk, options.Namespace)
	if err != nil {
		return err
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range objects {
		m := item.(metav1.Object)
		if s := options.LabelSelector; s != nil && !s.Matches(labels.Set(m.GetLabels())) {
			continue
		}
		key := client.ObjectKey{Namespace: m.GetNamespace(), Name: m.GetName()}
		if err := c.deleteLocked(gvk, key); err != nil {
			return err
		}
	}
	return nil
}
