package fakeapi

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The engine joins the pure rules of writing to the store: it reads, decides and commits. A
// decision that takes long (a patch, field ownership) is made without the lock, and repeated if
// another request has changed the object meanwhile.

// putLocked stores obj, which the store owns from now on, and wakes watchers.
func (s *Server) putLocked(res *resource, key string, obj runtime.Object) *version {
	c := s.store.put(res.storage(), key, obj, labels.Set(metaOf(obj).GetLabels()), res.fieldSet(obj))
	s.notifyLocked(res.storage())
	return c.after
}

// removeLocked deletes an object and wakes watchers.
func (s *Server) removeLocked(res *resource, key string) *change {
	c := s.store.remove(res.storage(), key)
	s.notifyLocked(res.storage())
	return c
}

// anyResource stands for all resources in changedLocked.
var anyResource = schema.GroupResource{}

// changedLocked returns a channel that the next change of the resource closes.
func (s *Server) changedLocked(gr schema.GroupResource) <-chan struct{} {
	ch := s.changed[gr]
	if ch == nil {
		ch = make(chan struct{})
		s.changed[gr] = ch
	}
	return ch
}

func (s *Server) notifyLocked(gr schema.GroupResource) {
	for _, key := range [...]schema.GroupResource{gr, anyResource} {
		if ch := s.changed[key]; ch != nil {
			close(ch)
			delete(s.changed, key)
		}
	}
}

// sortedResourcesLocked is in a fixed order, because the order of writes shows
// in their versions. Nobody changes the result.
func (s *Server) sortedResourcesLocked() []*resource {
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.resources), func(a, b *resource) int {
			return strings.Compare(a.gvr().String(), b.gvr().String())
		})
	}
	return s.sorted
}

func (s *Server) birthLocked() birth {
	return birth{uid: s.uidLocked(), now: time.Now(), suffix: s.suffixLocked()}
}

// uidLocked draws a random (version 4) UUID from the seeded source.
func (s *Server) uidLocked() types.UID {
	var b [16]byte
	for i := range b {
		b[i] = byte(s.random.Uint32())
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return types.UID(strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"))
}

// nameAlphabet has no vowels, so that no suffix spells a word, and none of the
// digits that look like letters.
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"

func (s *Server) suffixLocked() string {
	var b strings.Builder
	for range suffixLength {
		b.WriteByte(nameAlphabet[s.random.IntN(len(nameAlphabet))])
	}
	return b.String()
}

// generateAttempts is how often a generated name that is taken is drawn again.
const generateAttempts = 8

// create stores a new object, which belongs to the server from now on.
func (s *Server) create(res *resource, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := metaOf(obj)
	generated := m.GetName() == "" && m.GetGenerateName() != ""
	if namespace := s.namespaceLocked(m.GetNamespace()); namespace != nil || !s.options.AnyNamespace {
		if err := admitCreate(res, obj, namespace); err != nil {
			return nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		next := obj.DeepCopyObject()
		if err := prepareCreate(res, next, s.birthLocked()); err != nil {
			return nil, err
		}
		name := metaOf(next).GetName()
		key := objectKey(m.GetNamespace(), name)
		existing := s.store.table(res.storage()).live[key]
		switch {
		case existing == nil && dryRun:
			return next, nil
		case existing == nil:
			return s.putLocked(res, key, next).obj, nil
		case generated && attempt < generateAttempts:
			continue
		case generated:
			return nil, apierrors.NewGenerateNameConflict(res.gr(), name, 1)
		}
		err := apierrors.NewAlreadyExists(res.gr(), name)
		if metaOf(existing.obj).GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return nil, err
	}
}

func (s *Server) namespaceLocked(name string) runtime.Object {
	if v := s.store.table(namespaces).live[name]; v != nil {
		return v.obj
	}
	return nil
}

// A mutation computes the next state of an object from the stored one, which
// is shared and must not be changed. old is nil if there is none.
type mutation func(old runtime.Object) (runtime.Object, error)

// An updating is one update on its way through update.
type updating struct {
	res         *resource
	subresource string
	namespace   string
	name        string
	uid         types.UID // if set, the stored object must have it
	mayCreate   bool
	dryRun      bool
	mutate      mutation
}

// update applies a mutation, again if the object changed in between.
func (s *Server) update(u updating) (obj runtime.Object, created bool, err error) {
	key := objectKey(u.namespace, u.name)
	for {
		s.mu.Lock()
		before := s.store.table(u.res.storage()).live[key]
		homeless := s.namespaceLocked(u.namespace) == nil && !s.options.AnyNamespace
		s.mu.Unlock()
		if before == nil {
			return s.createByUpdate(u)
		}
		if homeless && !u.res.ClusterScoped { // admission looks for it, but not for a deletion
			return nil, false, apierrors.NewNotFound(namespaces, u.namespace)
		}
		if u.uid != "" && u.uid != metaOf(before.obj).GetUID() {
			return nil, false, apierrors.NewConflict(u.res.gr(), u.name, fmt.Errorf(
				"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %v, UID in object meta: %v",
				"/registry/"+u.res.Resource+"/"+key, u.uid, metaOf(before.obj).GetUID()))
		}
		next, err := u.mutate(before.obj)
		if err != nil {
			return nil, false, err
		}
		if err := checkVersion(u.res, next, before.obj); err != nil {
			return nil, false, err
		}
		if err := prepareUpdate(u.res, u.subresource, next, before.obj); err != nil {
			return nil, false, err
		}
		out, raced := s.commit(u, key, before, next)
		if !raced {
			return out, false, nil
		}
	}
}

// commit replaces before by next, unless before is no longer the stored
// version.
func (s *Server) commit(u updating, key string, before *version, next runtime.Object) (out runtime.Object, raced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.store.table(u.res.storage()).live[key] != before:
		return nil, true
	case diesByUpdate(u.res, next, before.obj):
		if !u.dryRun {
			s.removeLocked(u.res, key)
			s.finalizeNamespaceLocked(u.namespace)
		}
		return next, false
	case sameObject(before.obj, next):
		// Writing what is stored already is not a change, and wakes no watcher.
		return before.obj, false
	case u.dryRun:
		return next, false
	}
	return s.putLocked(u.res, key, next).obj, false
}

// createByUpdate is for server-side apply and for the kinds that a PUT creates.
func (s *Server) createByUpdate(u updating) (runtime.Object, bool, error) {
	if !u.mayCreate || u.subresource != "" {
		return nil, false, apierrors.NewNotFound(u.res.gr(), u.name)
	}
	obj, err := u.mutate(nil)
	if err != nil {
		return nil, false, err
	}
	if uid := metaOf(obj).GetUID(); uid != "" {
		return nil, false, apierrors.NewConflict(u.res.gr(), u.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	if err := checkNamespace(u.res, obj, u.namespace); err != nil {
		return nil, false, err
	}
	// A version that a new object cannot have is an error in a POST only.
	metaOf(obj).SetResourceVersion("")
	out, err := s.create(u.res, obj, u.dryRun)
	return out, err == nil, err
}

// delete carries out a deletion. The object that it returns is the last state
// that was stored; gone says whether it is stored no more.
func (s *Server) delete(res *resource, namespace, name string, options *metav1.DeleteOptions) (obj runtime.Object, gone bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleteLocked(res, objectKey(namespace, name), name, options)
}

func (s *Server) deleteLocked(res *resource, key, name string, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	before := s.store.table(res.storage()).live[key]
	if before == nil {
		return nil, false, apierrors.NewNotFound(res.gr(), name)
	}
	decide := prepareDelete
	if res.gr() == namespaces {
		decide = prepareNamespaceDelete
	}
	d, err := decide(res, before.obj, options, time.Now())
	if err != nil {
		return nil, false, err
	}
	if len(options.DryRun) > 0 {
		if d.marked != nil {
			return d.marked, d.gone, nil
		}
		return before.obj, d.gone, nil
	}
	last := before.obj
	if d.marked != nil && !sameObject(before.obj, d.marked) {
		last = s.putLocked(res, key, d.marked).obj
	}
	if d.gone {
		c := s.removeLocked(res, key)
		last = c.departure().obj
		s.finalizeNamespaceLocked(metaOf(last).GetNamespace())
	}
	if res.gr() == namespaces {
		s.finalizeNamespaceLocked(name)
	}
	return last, d.gone, nil
}
