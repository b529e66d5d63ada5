package client

import (
	"context"
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// note sends a write of obj. It is noted before it is sent, so that a read that begins meanwhile waits
// for it, and again when the server has answered: record writes down what the answer says. With skip
// it is only sent.
func (c *consistentClient) note(obj Object, skip bool, send func() error, record func(*writeLog)) error {
	log := c.logOf(obj)
	if skip || log == nil {
		return send()
	}
	defer log.begin(ObjectKeyFromObject(obj))()
	if err := send(); err != nil {
		return err
	}
	record(log)
	c.prune(log)
	return nil
}

// write sends a write of obj. The version that it leads to is in answer; but if it took the last
// finalizer of an object that was being deleted, the answer is the state before, and the object is gone.
func (c *consistentClient) write(obj, answer Object, skip bool, send func() error) error {
	return c.note(obj, skip, send, func(log *writeLog) {
		key := ObjectKeyFromObject(obj) // the name may be the server's by now, made from generateName
		if !answer.GetDeletionTimestamp().IsZero() && !outlivesDeletion(answer, log.gvk) {
			log.removed(key, answer.GetUID())
			return
		}
		c.wrote(log, key, answer.GetResourceVersion(), obj)
	})
}

// Create implements Writer.
func (c *consistentClient) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	options := (&CreateOptions{}).ApplyOptions(opts)
	skip := options.DisableReadYourWritesConsistency || len(options.AsCreateOptions().DryRun) > 0
	return c.write(obj, obj, skip, func() error { return c.liveClient.Create(ctx, obj, opts...) })
}

// Update implements Writer.
func (c *consistentClient) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	options := (&UpdateOptions{}).ApplyOptions(opts)
	skip := options.DisableReadYourWritesConsistency || len(options.AsUpdateOptions().DryRun) > 0
	return c.write(obj, obj, skip, func() error { return c.liveClient.Update(ctx, obj, opts...) })
}

// Patch implements Writer.
func (c *consistentClient) Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error {
	options := (&PatchOptions{}).ApplyOptions(opts)
	skip := options.DisableReadYourWritesConsistency || len(options.AsPatchOptions().DryRun) > 0
	return c.write(obj, obj, skip, func() error { return c.liveClient.Patch(ctx, obj, patch, opts...) })
}

// Apply implements Writer.
func (c *consistentClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error {
	options := (&ApplyOptions{}).ApplyOptions(opts)
	skip := options.DisableReadYourWritesConsistency || len(options.DryRun) > 0
	return c.applied(obj, nil, skip, func() error { return c.liveClient.Apply(ctx, obj, opts...) })
}

// applied sends something that is to be applied to an object. The answer is in obj, or in a body of
// its own if there is one.
func (c *consistentClient) applied(obj, body runtime.ApplyConfiguration, skip bool, send func() error) error {
	written, err := c.objectOf(obj)
	if err != nil {
		return send() // it says what is wrong; and what has no Go type here is not read as one
	}
	return c.write(written, written, skip, func() error {
		if err := send(); err != nil {
			return err
		}
		if body != nil {
			var other metav1.PartialObjectMetadata // in another form, with the version of the object
			decodeInto(&other, body)
			written.SetResourceVersion(other.ResourceVersion)
		} else {
			decodeInto(written, obj)
		}
		return nil
	})
}

// decodeInto makes an object of what is in a configuration. If it cannot, there is no version, and
// nobody waits for it: the write has succeeded all the same.
func decodeInto(to Object, from runtime.ApplyConfiguration) {
	if data, err := json.Marshal(from); err == nil {
		_ = json.Unmarshal(data, to)
	}
}

// objectOf returns the object that a configuration is for, in the form in which it is read. It has
// only its name.
func (c *consistentClient) objectOf(obj runtime.ApplyConfiguration) (Object, error) {
	a, err := describeApplied(obj)
	if err != nil {
		return nil, err
	}
	written, err := newObject(a.gvk, a.form, c.Scheme())
	if err != nil {
		return nil, err
	}
	written.SetNamespace(a.key.Namespace)
	written.SetName(a.key.Name)
	return written, nil
}

// Delete implements Writer. The server's answer says whether the object is gone, or waits for its
// finalizers.
func (c *consistentClient) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	options := (&DeleteOptions{}).ApplyOptions(opts)
	sent := options.AsDeleteOptions()
	var got answer
	send := func() error {
		got = c.delete(ctx, obj, options)
		return got.Error()
	}
	skip := options.DisableReadYourWritesConsistency || len(sent.DryRun) > 0
	return c.note(obj, skip, send, func(log *writeLog) {
		key, left := ObjectKeyFromObject(obj), deletionOf(got, log.gvk)
		switch uid := firstUID(left.uid, preconditionUID(sent.Preconditions), obj.GetUID()); {
		case left.version != "":
			c.wroteLeft(log, key, left)
		case left.isGone && uid != "":
			log.removed(key, uid)
		}
	})
}

// wrote notes the version that a write has led to. Many programs write kinds that they never read: what no
// informer has is forgotten at once.
func (c *consistentClient) wrote(log *writeLog, key ObjectKey, version string, written Object) {
	holds := c.waiter.Holds(written)
	if log.wrote(key, version, holds); !holds {
		c.forgetSeen(log, key)
	}
}

// wroteLeft notes what a delete has left, in the log's form.
func (c *consistentClient) wroteLeft(log *writeLog, key ObjectKey, left deletion) {
	example, err := newObject(log.gvk, log.form, c.Scheme())
	if err != nil {
		return // a read of it says what is wrong
	}
	example.SetNamespace(key.Namespace)
	example.SetName(key.Name)
	example.SetLabels(left.labels)
	c.wrote(log, key, left.version, example)
}

// deletion is what a delete has left.
type deletion struct {
	uid     types.UID
	isGone  bool
	version string            // of the object that is still there
	labels  map[string]string // the same
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// deletionOf reads the answer to a delete: a status, or the object. Some servers send the object
// even if it is gone. It is still there if it waits for finalizers, or has time to end; a Namespace
// has finalizers of its own.
func deletionOf(a answer, gvk schema.GroupVersionKind) deletion {
	obj, err := a.Get()
	if err != nil { // of a kind that has no Go type here
		metadata := &metav1.PartialObjectMetadata{}
		if raw, err := a.Raw(); err != nil || json.Unmarshal(raw, metadata) != nil || metadata.UID == "" {
			return deletion{} // nothing is known, and nothing can be waited for
		}
		obj = metadata
	}
	switch left := obj.(type) {
	case *metav1.Status:
		return deletion{uid: value(left.Details).UID, isGone: true}
	case Object:
		if outlivesDeletion(left, gvk) {
			return deletion{uid: left.GetUID(), version: left.GetResourceVersion(), labels: left.GetLabels()}
		}
		return deletion{uid: left.GetUID(), isGone: true}
	}
	return deletion{}
}

// outlivesDeletion reports whether an object that is being deleted is still there.
func outlivesDeletion(obj Object, gvk schema.GroupVersionKind) bool {
	return gvk.GroupKind() == namespaceKind || len(obj.GetFinalizers()) > 0 || value(obj.GetDeletionGracePeriodSeconds()) > 0
}

func preconditionUID(p *metav1.Preconditions) types.UID { return value(value(p).UID) }

func firstUID(uids ...types.UID) types.UID {
	for _, uid := range uids {
		if uid != "" {
			return uid
		}
	}
	return ""
}

// DeleteAllOf implements Writer.
func (c *consistentClient) DeleteAllOf(context.Context, Object, ...DeleteAllOfOption) error {
	return errors.New("a client that reads its own writes cannot delete all objects at once: the server does not say what it has deleted; list, and delete one by one")
}

// Status implements StatusClient.
func (c *consistentClient) Status() SubResourceWriter { return c.SubResource("status") }

// SubResource implements SubResourceClientConstructor.
func (c *consistentClient) SubResource(subResource string) SubResourceClient {
	return &consistentSubResource{c.liveClient.SubResource(subResource), c}
}

// consistentSubResource notes what changes the object. Create is not noted: its answer says nothing
// about the version of the object, if that changes at all.
type consistentSubResource struct {
	SubResourceClient
	client *consistentClient
}

// Update implements SubResourceWriter. A Scale has the version of the object that it belongs to.
func (s *consistentSubResource) Update(ctx context.Context, obj Object, opts ...SubResourceUpdateOption) error {
	options, answer := (&SubResourceUpdateOptions{}).ApplyOptions(opts), obj
	if options.SubResourceBody != nil {
		answer = options.SubResourceBody
	}
	return s.client.write(obj, answer, options.DisableReadYourWritesConsistency || len(options.AsUpdateOptions().DryRun) > 0, func() error { return s.SubResourceClient.Update(ctx, obj, opts...) })
}

// Patch implements SubResourceWriter.
func (s *consistentSubResource) Patch(ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption) error {
	options, answer := (&SubResourcePatchOptions{}).ApplyOptions(opts), obj
	if options.SubResourceBody != nil {
		answer = options.SubResourceBody
	}
	return s.client.write(obj, answer, options.DisableReadYourWritesConsistency || len(options.AsPatchOptions().DryRun) > 0, func() error { return s.SubResourceClient.Patch(ctx, obj, patch, opts...) })
}

// Apply implements SubResourceWriter.
func (s *consistentSubResource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption) error {
	options := (&SubResourceApplyOptions{}).ApplyOpts(opts)
	return s.client.applied(obj, options.SubResourceBody, options.DisableReadYourWritesConsistency || len(options.DryRun) > 0, func() error { return s.SubResourceClient.Apply(ctx, obj, opts...) })
}
