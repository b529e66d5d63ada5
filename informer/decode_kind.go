package informer

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// expected is what objects must say that they are. A resource that is not that
// of the type decodes without an error, into objects with nothing in them.
type expected struct {
	kind    string
	goType  reflect.Type
	known   []schema.GroupVersionKind // all that the scheme calls the type
	scheme  *runtime.Scheme
	version schema.GroupVersion // of the resource
}

// expect asks the scheme for the names of T. It must know T.
func expect[T Object](scheme *runtime.Scheme, version schema.GroupVersion) (*expected, error) {
	pointer := reflect.TypeFor[T]()
	if pointer.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("%s is no pointer to an API type, such as *corev1.Pod", pointer)
	}
	known, _, err := scheme.ObjectKinds(newObject[T]())
	if err != nil {
		return nil, fmt.Errorf("the scheme does not know %s: add its package's AddToScheme to the scheme: %w", pointer, err)
	}
	return &expected{kind: known[0].Kind, goType: pointer, known: known, scheme: scheme, version: version}, nil
}

// is tells whether this is a name of the type. The version may be missing.
func (e *expected) is(name schema.GroupVersionKind) bool {
	return name.Kind == e.kind && e.isOf(name.GroupVersion())
}

// isList is the same for a list.
func (e *expected) isList(name schema.GroupVersionKind) bool {
	return name.Kind == e.kind+"List" && e.isOf(name.GroupVersion())
}

// mayBeList is for a custom resource whose definition gives the list a name of
// its own (names.listKind). If it is the list of another type, it is refused.
func (e *expected) mayBeList(name schema.GroupVersionKind) bool {
	item := strings.TrimSuffix(name.Kind, "List")
	return item != "" && item != e.kind && !e.scheme.Recognizes(e.version.WithKind(item)) && e.isOf(name.GroupVersion())
}

func (e *expected) isOf(version schema.GroupVersion) bool {
	return version.Empty() || slices.ContainsFunc(e.known, func(known schema.GroupVersionKind) bool {
		return known.Kind == e.kind && known.GroupVersion() == version
	})
}

// wrong is the error for an object, or a list, that is something else.
func (e *expected) wrong(name schema.GroupVersionKind) error {
	sent, asked := "", e.goType.String()
	if kind := strings.TrimSuffix(name.Kind, "List"); kind == e.kind && !e.isOf(name.GroupVersion()) {
		sent, asked = name.GroupVersion().String()+" "+kind, e.known[0].GroupVersion().String()+" "+kind
	} else if object, err := e.scheme.New(e.version.WithKind(kind)); err == nil {
		sent = fmt.Sprintf("%T", object)
	} else {
		sent = strconv.Quote(name.Kind)
	}
	return fmt.Errorf("the server sent a %s where a %s was asked for: is the resource that of the type?", sent, asked)
}
