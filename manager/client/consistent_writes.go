package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// unconfirmedWrites are the writes to objects of one kind, in one form, for which no read has
// waited yet.
type unconfirmedWrites struct {
	resourceKey // the kind and the form

	mu      sync.Mutex // guards objects
	objects map[ObjectKey]unconfirmed
}

// unconfirmed has the server's answers to the writes to one object.
type unconfirmed struct {
	version string // the newest one; empty if there's none
	// the cache's selectors match the object in that version, so an event will show it
	isHeld  bool
	deleted []types.UID // the objects of this name that were deleted; replaced, never changed
	// ahead is the version that the cache had reached before the object was created, if the object
	// has an older one: the server was restored from a backup, and the cache has yet to notice
	ahead string
	// rewinds is how often the cache had gone back, when all this was written
	rewinds int
}

func (u unconfirmed) isEmpty() bool {
	return u.version == "" && len(u.deleted) == 0 && u.ahead == ""
}

// follow forgets the writes of a history that the cache has left since.
func (u *unconfirmed) follow(rewinds int) {
	if u.rewinds != rewinds {
		*u = unconfirmed{rewinds: rewinds}
	}
}

func (u unconfirmed) isDeleted(uid types.UID) bool { return slices.Contains(u.deleted, uid) }

// change changes what is remembered of an object.
func (w *unconfirmedWrites) change(key ObjectKey, change func(*unconfirmed)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.objects[key]
	change(&u)
	if u.isEmpty() {
		delete(w.objects, key)
		return
	}
	if w.objects == nil {
		w.objects = map[ObjectKey]unconfirmed{}
	}
	w.objects[key] = u
}

// wrote remembers the version that a write has led to. A version without an order is useless: the
// cache can't compare it.
func (w *unconfirmedWrites) wrote(key ObjectKey, rewinds int, version string, isHeld bool) {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return
	}
	w.change(key, func(u *unconfirmed) {
		u.follow(rewinds)
		if u.version == "" || isNewer(version, u.version) { // answers may overtake each other
			u.version, u.isHeld = version, isHeld
		}
	})
}

// deleted remembers that the object with this UID was deleted. The server gives no version for
// that.
func (w *unconfirmedWrites) deleted(key ObjectKey, rewinds int, uid types.UID) {
	w.change(key, func(u *unconfirmed) {
		u.follow(rewinds)
		u.deleted = append(slices.Clone(u.deleted), uid)
	})
}

// confirmed forgets the writes that the cache has seen. Later ones stay.
func (w *unconfirmedWrites) confirmed(key ObjectKey, seen unconfirmed) {
	w.change(key, func(u *unconfirmed) {
		if u.rewinds != seen.rewinds {
			return
		}
		if u.version == seen.version {
			u.version, u.isHeld = "", false
		}
		u.deleted = slices.DeleteFunc(slices.Clone(u.deleted), seen.isDeleted)
		if u.ahead == seen.ahead {
			u.ahead = ""
		}
	})
}

// to returns the unconfirmed writes to an object.
func (w *unconfirmedWrites) to(key ObjectKey) unconfirmed {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objects[key]
}

// keys returns the objects of a namespace that were written, or of all namespaces. Those without a
// namespace are always among them: a list of a cluster-scoped kind has them all.
func (w *unconfirmedWrites) keys(namespace string) (keys []ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.objects {
		if namespace == "" || key.Namespace == "" || key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}

// some returns up to two objects that were written, at random, as a map is walked.
func (w *unconfirmedWrites) some() (keys []ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.objects {
		if keys = append(keys, key); len(keys) == 2 {
			break
		}
	}
	return keys
}

// isNewer compares two versions that have an order.
func isNewer(version, than string) bool {
	order, _ := resourceversion.CompareResourceVersion(version, than)
	return order > 0
}

// wrote remembers a write of obj that has succeeded: err is nil, and skip is false. The new version
// is in answer, which is obj or the body of a subresource.
func (c *consistentClient) wrote(err error, skip bool, obj, answer Object) error {
	if err != nil || skip {
		return err
	}
	if writes := c.writesOf(obj); writes != nil {
		c.record(writes, obj, answer, !answer.GetDeletionTimestamp().IsZero())
	}
	return nil
}

// record remembers the server's answer. If a write removes the object, such as the one that removes
// the last finalizer, the answer is the state before it.
func (c *consistentClient) record(
	writes *unconfirmedWrites, obj, answer metav1.Object, isDeleted bool,
) {
	key := ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	written, err := newObject(writes.gvk, writes.encoding, c.Scheme())
	if err != nil {
		return // a read says what is wrong
	}
	_, rewinds := c.reached(written, key)
	if isDeleted && !outlivesDeletion(answer, writes.gvk) {
		writes.deleted(key, rewinds, answer.GetUID())
	} else {
		written.SetNamespace(key.Namespace)
		written.SetName(key.Name)
		written.SetLabels(obj.GetLabels())
		isHeld := c.waiter.Holds(written)
		if obj != answer { // the caller's object may lack its labels; a body changes none
			isHeld = isHeld || writes.to(key).isHeld
		}
		writes.wrote(key, rewinds, answer.GetResourceVersion(), isHeld)
	}
	c.forgetSeen(writes, key)
}

// forgetSeen forgets writes that the cache has already seen, without waiting: those to this object,
// at once if the kind has no informer, and those to two others. So objects that are written and
// never read don't pile up.
func (c *consistentClient) forgetSeen(writes *unconfirmedWrites, key ObjectKey) {
	for _, written := range append(writes.some(), key) {
		_, _ = c.await(ended, writes, written) // an error says that the cache hasn't seen it
	}
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// outlivesDeletion reports whether an object that is being deleted still exists: it waits for
// finalizers, or has time to end. A Namespace has its own finalizers.
func outlivesDeletion(obj metav1.Object, gvk schema.GroupVersionKind) bool {
	return gvk.GroupKind() == namespaceKind || len(obj.GetFinalizers()) > 0 ||
		value(obj.GetDeletionGracePeriodSeconds()) > 0
}

// Create implements Writer.
func (c *consistentClient) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	options := new(CreateOptions).ApplyOptions(opts)
	skip := options.DisableReadYourWritesConsistency || len(options.AsCreateOptions().DryRun) > 0
	writes := c.writesOf(obj) // nil if the object is invalid
	if skip || writes == nil {
		return c.liveClient.Create(ctx, obj, opts...)
	}
	before, rewinds := c.reached(obj, ObjectKeyFromObject(obj))
	err := c.liveClient.Create(ctx, obj, opts...)
	if err == nil && isOrderedBefore(obj.GetResourceVersion(), before) {
		writes.change(ObjectKeyFromObject(obj), func(u *unconfirmed) {
			u.follow(rewinds)
			u.ahead = before
		})
	}
	return c.wrote(err, false, obj, obj)
}

// isOrderedBefore reports whether a version is older than another, if both have an order.
func isOrderedBefore(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// reached returns the version that a cache shows, and how often it went back, if it says that.
func (c *consistentClient) reached(obj Object, key ObjectKey) (version string, rewinds int) {
	if cache, ok := c.waiter.(Progress); ok {
		return cache.Reached(obj, key)
	}
	return "", 0
}

// Update implements Writer.
func (c *consistentClient) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	options := new(UpdateOptions).ApplyOptions(opts)
	return c.wrote(c.liveClient.Update(ctx, obj, opts...), options.leavesNoTrace(), obj, obj)
}

// Patch implements Writer.
func (c *consistentClient) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...PatchOption,
) error {
	options := new(PatchOptions).ApplyOptions(opts)
	return c.wrote(c.liveClient.Patch(ctx, obj, patch, opts...), options.leavesNoTrace(), obj, obj)
}

// Apply implements Writer.
func (c *consistentClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption,
) error {
	options := new(ApplyOptions).ApplyOptions(opts)
	return c.applied(c.liveClient.Apply(ctx, obj, opts...), options.leavesNoTrace(), obj, obj)
}

// leavesNoTrace reports whether reads don't have to wait for the write.
func (o *UpdateOptions) leavesNoTrace() bool {
	return o.DisableReadYourWritesConsistency || len(o.AsUpdateOptions().DryRun) > 0
}

func (o *PatchOptions) leavesNoTrace() bool {
	return o.DisableReadYourWritesConsistency || len(o.AsPatchOptions().DryRun) > 0
}

func (o *ApplyOptions) leavesNoTrace() bool {
	return o.DisableReadYourWritesConsistency || len(o.DryRun) > 0
}

// applied is wrote for an apply configuration, which by now has the server's answer.
func (c *consistentClient) applied(
	err error, skip bool, obj, answer runtime.ApplyConfiguration,
) error {
	if err != nil || skip {
		return err
	}
	a, err := describeApplied(obj)
	if err != nil {
		return nil
	}
	example, err := newObject(a.gvk, a.encoding, c.Scheme())
	if err != nil {
		return nil // an object that has no Go type here isn't read as one
	}
	if writes := c.writesOf(example); writes != nil {
		written := metadataIn(obj)
		answered := written
		if answer != obj {
			answered = metadataIn(answer)
		}
		written.Namespace, written.Name = a.key.Namespace, a.key.Name
		c.record(writes, written, answered, !answered.GetDeletionTimestamp().IsZero())
	}
	return nil
}

// metadataIn returns the metadata in an apply configuration. If it can't be read, there's no
// version, and reads don't wait: the write has succeeded all the same.
func metadataIn(obj runtime.ApplyConfiguration) *metav1.PartialObjectMetadata {
	found := &metav1.PartialObjectMetadata{}
	if data, err := json.Marshal(obj); err == nil {
		_ = json.Unmarshal(data, found)
	}
	return found
}

// Delete implements Writer. The server's answer says whether the object was deleted: it's a Status,
// or the object, which some servers send even after deleting it.
func (c *consistentClient) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	options := new(DeleteOptions).ApplyOptions(opts)
	sent := options.AsDeleteOptions()
	got := c.delete(ctx, obj, options)
	skip := options.DisableReadYourWritesConsistency || len(sent.DryRun) > 0
	if err := got.Error(); err != nil || skip {
		return err
	}
	writes := c.writesOf(obj)
	if writes == nil {
		return nil
	}
	switch left := deletionOf(got).(type) {
	case *metav1.Status:
		uid := cmp.Or(value(left.Details).UID, value(value(sent.Preconditions).UID), obj.GetUID())
		if uid != "" {
			_, rewinds := c.reached(obj, ObjectKeyFromObject(obj))
			writes.deleted(ObjectKeyFromObject(obj), rewinds, uid)
			c.forgetSeen(writes, ObjectKeyFromObject(obj))
		}
	case Object:
		c.record(writes, left, left, true)
	}
	return nil
}

// deletionOf reads the answer to a delete. If it says nothing, deletionOf returns nil, and there's
// nothing to wait for.
func deletionOf(a answer) runtime.Object {
	if obj, err := a.Get(); err == nil {
		return obj
	}
	metadata := &metav1.PartialObjectMetadata{} // of a kind that has no Go type here
	raw, err := a.Raw()
	if err != nil || json.Unmarshal(raw, metadata) != nil || metadata.UID == "" {
		return nil
	}
	return metadata
}

// DeleteAllOf implements Writer.
func (c *consistentClient) DeleteAllOf(context.Context, Object, ...DeleteAllOfOption) error {
	return errors.New("a client that reads its own writes cannot delete all objects at once: " +
		"the server does not say what it has deleted; list, and delete one by one")
}

// Status implements StatusClient.
func (c *consistentClient) Status() SubResourceWriter { return c.SubResource("status") }

// SubResource implements SubResourceClientConstructor.
func (c *consistentClient) SubResource(subResource string) SubResourceClient {
	return &consistentSubResource{c.liveClient.SubResource(subResource), c}
}

// consistentSubResource remembers writes that change the object. Create isn't remembered: its
// answer says nothing about the version of the object, if that changes at all.
type consistentSubResource struct {
	SubResourceClient
	client *consistentClient
}

// Update implements SubResourceWriter. A Scale has the version of the object that it belongs to.
func (s *consistentSubResource) Update(
	ctx context.Context, obj Object, opts ...SubResourceUpdateOption,
) error {
	options, answer := new(SubResourceUpdateOptions).ApplyOptions(opts), obj
	if options.SubResourceBody != nil {
		answer = options.SubResourceBody
	}
	err := s.SubResourceClient.Update(ctx, obj, opts...)
	return s.client.wrote(err, options.leavesNoTrace(), obj, answer)
}

// Patch implements SubResourceWriter.
func (s *consistentSubResource) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption,
) error {
	options, answer := new(SubResourcePatchOptions).ApplyOptions(opts), obj
	if options.SubResourceBody != nil {
		answer = options.SubResourceBody
	}
	err := s.SubResourceClient.Patch(ctx, obj, patch, opts...)
	return s.client.wrote(err, options.leavesNoTrace(), obj, answer)
}

// Apply implements SubResourceWriter.
func (s *consistentSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption,
) error {
	options, answer := new(SubResourceApplyOptions).ApplyOpts(opts), obj
	if options.SubResourceBody != nil {
		answer = options.SubResourceBody
	}
	err := s.SubResourceClient.Apply(ctx, obj, opts...)
	return s.client.applied(err, options.leavesNoTrace(), obj, answer)
}
