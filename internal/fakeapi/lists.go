package fakeapi

import (
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Building the list objects of answers out of stored versions, without
// copying the objects themselves.

func newListMeta(rv uint64, next string, remaining *int64) metav1.ListMeta {
	return metav1.ListMeta{ResourceVersion: strconv.FormatUint(rv, 10), Continue: next, RemainingItemCount: remaining}
}

// withoutVersions are the same items, as a server has them that keeps no history.
func withoutVersions(items []*version) []*version {
	bare := make([]*version, len(items))
	for i, item := range items {
		obj := item.obj.DeepCopyObject()
		metaOf(obj).SetResourceVersion("")
		bare[i] = &version{obj: obj}
	}
	return bare
}

// list returns the list object of the kind with these items.
func (r *resource) list(items []*version, lm metav1.ListMeta) runtime.Object {
	gvk := r.gvk()
	gvk.Kind += "List"
	if !r.typed {
		u := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, len(items))}
		u.SetGroupVersionKind(gvk)
		for i, item := range items {
			u.Items[i] = *item.obj.(*unstructured.Unstructured)
		}
		fillListMeta(u, lm)
		return u
	}
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		panic(fmt.Sprintf("fakeapi: create an empty %s: %v", gvk.Kind, err))
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	fillListMeta(list, lm)
	ptr, err := meta.GetItemsPtr(list)
	if err != nil {
		panic(fmt.Sprintf("fakeapi: find the items of %s: %v", gvk.Kind, err))
	}
	slice := reflect.ValueOf(ptr).Elem()
	slice.Set(reflect.MakeSlice(slice.Type(), len(items), len(items)))
	for i, item := range items {
		element := slice.Index(i)
		element.Set(reflect.ValueOf(item.obj).Elem())
		// Items of built-in lists do not repeat their type.
		element.FieldByName("TypeMeta").SetZero()
	}
	return list
}

func fillListMeta(list runtime.Object, lm metav1.ListMeta) {
	m, err := meta.ListAccessor(list)
	if err != nil {
		panic(fmt.Sprintf("fakeapi: find the list metadata of %T: %v", list, err))
	}
	m.SetResourceVersion(lm.ResourceVersion)
	m.SetContinue(lm.Continue)
	m.SetRemainingItemCount(lm.RemainingItemCount)
	if of, ok := m.(metav1.ShardedListInterface); ok && lm.ShardInfo != nil {
		of.SetShardInfo(lm.ShardInfo)
	}
}

// partial is the object's metadata alone.
func partial(obj runtime.Object) *metav1.PartialObjectMetadata {
	p := meta.AsPartialObjectMetadata(metaOf(obj))
	p.SetGroupVersionKind(metaGV.WithKind(partialKind))
	return p
}

// partialList is the metadata of the items. The real server selects shards here, too, and doesn't
// say so.
func partialList(items []*version, lm metav1.ListMeta) *metav1.PartialObjectMetadataList {
	lm.ShardInfo = nil
	list := &metav1.PartialObjectMetadataList{ListMeta: lm}
	list.SetGroupVersionKind(metaGV.WithKind(partialKind + "List"))
	for _, item := range items {
		list.Items = append(list.Items, *partial(item.obj))
	}
	return list
}
