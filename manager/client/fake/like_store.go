package fake

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/manager/client"
)

// likeStore has the objects of a likeClient, as they were given. It has no lock, because the client
// does.
type likeStore struct {
	objects  map[schema.GroupVersionResource]map[client.ObjectKey]runtime.Object
	watchers map[watched][]*watch.RaceFreeFakeWatcher
	// oneCounter counts the versions of all objects together. Otherwise each has its own.
	oneCounter bool
	counted    uint64
}

// watched is a resource in a namespace, or in all.
type watched struct {
	gvr       schema.GroupVersionResource
	namespace string
}

func newLikeStore() *likeStore {
	return &likeStore{
		objects:  map[schema.GroupVersionResource]map[client.ObjectKey]runtime.Object{},
		watchers: map[watched][]*watch.RaceFreeFakeWatcher{},
	}
}

// version is the version of an object that is written now, if versions are counted together.
func (s *likeStore) version(otherwise string) string {
	if !s.oneCounter {
		return otherwise
	}
	s.counted++
	return strconv.FormatUint(s.counted, 10)
}

// get returns a copy.
func (s *likeStore) get(
	gvr schema.GroupVersionResource, key client.ObjectKey,
) (runtime.Object, error) {
	obj := s.objects[gvr][key]
	if obj == nil {
		return nil, apierrors.NewNotFound(gvr.GroupResource(), key.Name)
	}
	return obj.DeepCopyObject(), nil
}

// list returns copies, in order. met says that the resource has, or had, objects.
func (s *likeStore) list(
	gvr schema.GroupVersionResource, namespace string,
) (found []runtime.Object, met bool) {
	all, met := s.objects[gvr]
	for key, obj := range all {
		if namespace == "" || key.Namespace == namespace {
			found = append(found, obj.DeepCopyObject())
		}
	}
	slices.SortFunc(found, func(a, b runtime.Object) int {
		one, two := a.(metav1.Object), b.(metav1.Object)
		return cmp.Or(cmp.Compare(one.GetNamespace(), two.GetNamespace()),
			cmp.Compare(one.GetName(), two.GetName()))
	})
	return found, met
}

// create stores a copy of a new object, and replace one of an existing object.
func (s *likeStore) create(
	gvr schema.GroupVersionResource, obj runtime.Object, namespace string,
) error {
	return s.put(gvr, obj, namespace, watch.Added)
}

func (s *likeStore) replace(
	gvr schema.GroupVersionResource, obj runtime.Object, namespace string,
) error {
	return s.put(gvr, obj, namespace, watch.Modified)
}

func (s *likeStore) put(
	gvr schema.GroupVersionResource, obj runtime.Object, namespace string, change watch.EventType,
) error {
	obj = obj.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if m.GetNamespace() == "" {
		m.SetNamespace(namespace)
	}
	if got := m.GetNamespace(); got != namespace {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"request namespace does not match object namespace, request: %q object: %q",
			namespace, got))
	}
	if s.objects[gvr] == nil {
		s.objects[gvr] = map[client.ObjectKey]runtime.Object{}
	}
	key := client.ObjectKey{Namespace: namespace, Name: m.GetName()}
	found := s.objects[gvr][key] != nil
	switch {
	case found && change == watch.Added:
		return apierrors.NewAlreadyExists(gvr.GroupResource(), key.Name)
	case !found && change == watch.Modified:
		return apierrors.NewNotFound(gvr.GroupResource(), key.Name)
	}
	s.objects[gvr][key] = obj
	s.tell(gvr, namespace, change, obj)
	return nil
}

func (s *likeStore) remove(gvr schema.GroupVersionResource, key client.ObjectKey) error {
	obj := s.objects[gvr][key]
	if obj == nil {
		return apierrors.NewNotFound(gvr.GroupResource(), key.Name)
	}
	delete(s.objects[gvr], key)
	s.tell(gvr, key.Namespace, watch.Deleted, obj)
	return nil
}

// watch begins with the next change.
func (s *likeStore) watch(gvr schema.GroupVersionResource, namespace string) watch.Interface {
	w := watch.NewRaceFreeFake()
	at := watched{gvr, namespace}
	s.watchers[at] = append(s.watchers[at], w)
	return w
}

func (s *likeStore) tell(
	gvr schema.GroupVersionResource, namespace string, change watch.EventType, obj runtime.Object,
) {
	told := s.watchers[watched{gvr, namespace}]
	if namespace != "" {
		told = append(slices.Clip(told), s.watchers[watched{gvr, ""}]...)
	}
	for _, w := range told {
		w.Action(change, obj.DeepCopyObject())
	}
}
