package fakeapi

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules of writing with Options.Loose: those of controller-runtime's fake
// client, which stores what it is given. They stand in for prepareCreate,
// prepareUpdate and prepareDelete.

// looseResources are the built-in kinds without rules of their own.
var looseResources = sync.OnceValue(func() []*resource {
	var out []*resource
	for _, res := range builtinResources() {
		loose := *res
		loose.rules = rules{
			loose: true, noGeneration: true, needsVersion: res.needsVersion,
			createOnPut: res.Group == "" && slices.Contains([]string{"events", "limitranges", "services"}, res.Resource),
		}
		out = append(out, &loose)
	}
	return out
})

func prepareLooseCreate(res *resource, obj runtime.Object, b birth) error {
	m := metaOf(obj)
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(generateName(m.GetGenerateName(), b.suffix))
	}
	if m.GetName() == "" {
		return apierrors.NewInvalid(res.gk(), "", field.ErrorList{field.Required(field.NewPath("metadata", "name"), "")})
	}
	if m.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	return nil
}

// checkLooseVersion takes a version as a text. None is another one, too, for
// the kinds that need one.
func checkLooseVersion(res *resource, obj, old runtime.Object) error {
	m := metaOf(obj)
	rv := m.GetResourceVersion()
	if rv == "" && !res.needsVersion || rv == metaOf(old).GetResourceVersion() {
		return nil
	}
	return apierrors.NewConflict(res.gr(), m.GetName(), errors.New(modified))
}

func prepareLooseUpdate(res *resource, subresource string, obj, old runtime.Object) error {
	m := metaOf(obj)
	switch {
	case subresource == "status":
		keepAllButLooseStatus(obj, old)
	case subresource == "" && res.Status:
		statusSection.copy(obj, old)
	}
	if !m.GetDeletionTimestamp().Equal(metaOf(old).GetDeletionTimestamp()) {
		return errors.New("metadata.deletionTimestamp is immutable")
	}
	return nil
}

// keepAllButLooseStatus keeps the metadata of built-in kinds, too.
func keepAllButLooseStatus(obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		keepAllButCustomStatus(u, old.(*unstructured.Unstructured))
		return
	}
	next := old.DeepCopyObject()
	statusSection.copy(next, obj)
	metaOf(next).SetManagedFields(metaOf(obj).GetManagedFields())
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(next).Elem())
}

// prepareLooseDelete knows of finalizers and of nothing else: no propagation,
// no period of grace, and no content of namespaces.
func prepareLooseDelete(res *resource, old runtime.Object, options *metav1.DeleteOptions, now time.Time) (deletion, error) {
	if err := checkPreconditions(res, old, options.Preconditions); err != nil {
		return deletion{}, err
	}
	if len(metaOf(old).GetFinalizers()) == 0 {
		return deletion{gone: true}, nil
	}
	obj, stamp := old.DeepCopyObject(), seconds(now)
	metaOf(obj).SetDeletionTimestamp(&stamp)
	return deletion{marked: obj}, nil
}

// looseSubresource is what a request to a subresource is about. A patch is one
// of the object, and an update one of its status, whatever their names are:
// resize, approval.
func looseSubresource(res *resource, r Request, contentType string) string {
	isScale := r.Subresource == "scale" && res.Scale != nil
	switch {
	case r.Subresource == "" || r.Subresource == "status":
	case r.Verb == "patch" && contentType != string(types.ApplyPatchType):
		return ""
	case r.Verb == "update" && !isScale:
		return "status"
	}
	return r.Subresource
}

// nextOwnVersion counts the versions of one object.
func nextOwnVersion(before *version) uint64 {
	if before == nil {
		return 1
	}
	rv, _ := strconv.ParseUint(metaOf(before.obj).GetResourceVersion(), 10, 64)
	return rv + 1
}
