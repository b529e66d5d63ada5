package informer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// Form is how a program holds the objects of a collection.
type Form int

const (
	// FormOfType is the zero value. The Go type decides: *unstructured.Unstructured and
	// *metav1.PartialObjectMetadata have their own forms, every other type is FormTyped.
	FormOfType Form = iota
	// FormTyped objects have a Go type that the scheme knows.
	FormTyped
	// FormUnstructured objects are maps with everything that the server sent. Use them for kinds
	// that have no Go type, and for objects that you write back: a typed object loses the fields
	// that its Go type doesn't have. They come as JSON, keep their apiVersion and kind, and take
	// the most time and memory.
	FormUnstructured
	// FormMetadata objects are PartialObjectMetadata, without spec, status and data, which the
	// server leaves out. They come as protobuf, even those of custom resources. Their apiVersion
	// and kind are the requested ones: the server calls each of them a meta.k8s.io/v1
	// PartialObjectMetadata.
	FormMetadata
)

// String is for errors.
func (f Form) String() string {
	switch f {
	case FormTyped:
		return "typed"
	case FormUnstructured:
		return "unstructured"
	case FormMetadata:
		return "metadata-only"
	default:
		return "of its Go type"
	}
}

var metadataKind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")

// objectType says how to make an object of a collection, how to decode it, and what its kind is.
// Only this type uses reflection on T, so T may be an interface, and the kind may be chosen while
// the program runs.
type objectType[T Object] struct {
	*expectedKind
	newObject  func() T
	form       Form
	isProtobuf bool // it can be decoded from protobuf
}

// newObjectType works out the objects of a resource. The error says what the
// caller has to add.
func newObjectType[T Object](
	resource schema.GroupVersionResource, options ListWatchOptions,
) (*objectType[T], error) {
	form, err := formOf[T](options.Form)
	if err != nil {
		return nil, err
	}
	var example runtime.Object
	switch form {
	case FormUnstructured:
		example = &unstructured.Unstructured{}
	case FormMetadata:
		example = &metav1.PartialObjectMetadata{}
	default:
		if example, err = typedExample[T](options); err != nil {
			return nil, err
		}
	}
	if _, ok := example.(T); !ok {
		return nil, fmt.Errorf("%s objects of this kind are %T, which is not a %s", form, example,
			reflect.TypeFor[T]())
	}
	expected := expectAnyKind(resource, form == FormMetadata, options)
	if form == FormTyped {
		if expected, err = expectKind(example, resource.GroupVersion(), options); err != nil {
			return nil, err
		}
	}
	goType := reflect.TypeOf(example).Elem()
	_, isProtobuf := example.(protobufMessage)
	return &objectType[T]{
		expectedKind: expected, form: form, isProtobuf: isProtobuf,
		newObject: func() T { return reflect.New(goType).Interface().(T) },
	}, nil
}

// formOf returns the form of the objects in a collection of T.
func formOf[T Object](asked Form) (Form, error) {
	form, goType := FormTyped, reflect.TypeFor[T]()
	switch goType {
	case reflect.TypeFor[*unstructured.Unstructured]():
		form = FormUnstructured
	case reflect.TypeFor[*metav1.PartialObjectMetadata]():
		form = FormMetadata
	}
	if asked != FormOfType && asked != form {
		if goType.Kind() != reflect.Interface {
			return form, fmt.Errorf("a %s is %s and cannot hold %s objects", goType, form, asked)
		}
		form = asked
	}
	return form, nil
}

// typedExample makes an object of the Go type: T, or the scheme's type for the kind if T is an
// interface.
func typedExample[T Object](options ListWatchOptions) (runtime.Object, error) {
	goType := reflect.TypeFor[T]()
	switch {
	case goType.Kind() == reflect.Pointer:
		return reflect.New(goType.Elem()).Interface().(T), nil
	case goType.Kind() != reflect.Interface:
		return nil, fmt.Errorf("%s is not a pointer to an API type, such as *corev1.Pod", goType)
	case options.Kind.Empty():
		return nil, fmt.Errorf("%s is an interface, and does not say which objects to make: set Kind, "+
			"and Form if they are not typed", goType)
	}
	example, err := options.Scheme.New(options.Kind)
	if err != nil {
		return nil, fmt.Errorf("the scheme has no Go type for %s: add its package's AddToScheme to the "+
			"scheme, or choose FormUnstructured or FormMetadata: %w", options.Kind, err)
	}
	return example, nil
}

// unmarshal decodes JSON into an object.
//
// Unstructured's own UnmarshalJSON refuses an object without a kind, which is how
// the items of built-in lists come; complete adds the kind afterwards.
func (o *objectType[T]) unmarshal(text []byte, into T) error {
	if free, ok := any(into).(*unstructured.Unstructured); ok {
		if err := json.Unmarshal(text, &free.Object); err != nil {
			return err
		}
		if free.Object == nil {
			return errors.New("null is not an object")
		}
		return nil
	}
	return json.Unmarshal(text, into)
}

// complete gives a decoded object the apiVersion and kind that readers rely on.
// gvk is the kind that it, or its list, has in the answer.
func (o *objectType[T]) complete(object T, gvk schema.GroupVersionKind) {
	about := object.GetObjectKind()
	switch o.form {
	case FormTyped:
		// As from apimachinery's decoder: the Go type says what it is.
		about.SetGroupVersionKind(schema.GroupVersionKind{})
	case FormMetadata:
		if gvk = o.asked; gvk.Empty() {
			gvk = metadataKind
		}
		about.SetGroupVersionKind(gvk)
	case FormUnstructured:
		if have := about.GroupVersionKind(); have.Kind == "" || have.Version == "" {
			if !o.asked.Empty() {
				gvk = o.asked
			}
			about.SetGroupVersionKind(gvk)
		}
	}
}

// expectedKind is the kind that objects must have. Without this check, a resource that doesn't
// belong to the Go type would decode without an error, into empty objects.
type expectedKind struct {
	// for errors and the flight recorder: the resource's name where the kind isn't known
	kind    string
	asked   schema.GroupVersionKind   // empty if any kind of the resource's version will do
	goType  string                    // what the caller wants, for errors
	known   []schema.GroupVersionKind // all kinds of the type
	partial bool                      // metadata that the server has cut out of a whole object is accepted, too
	scheme  *runtime.Scheme
	version schema.GroupVersion // of the resource
}

// expectKind asks the scheme for the kinds of a Go type. It must know the type.
func expectKind(
	example runtime.Object, version schema.GroupVersion, options ListWatchOptions,
) (*expectedKind, error) {
	known, _, err := options.Scheme.ObjectKinds(example)
	if err != nil {
		return nil, fmt.Errorf("the scheme does not know %T: add its package's AddToScheme to the "+
			"scheme: %w", example, err)
	}
	asked := known[0]
	if !options.Kind.Empty() {
		if asked = options.Kind; !slices.Contains(known, asked) {
			return nil, fmt.Errorf("a %T is a %s and not a %s", example, known[0], asked)
		}
	}
	return &expectedKind{kind: asked.Kind, asked: asked, goType: fmt.Sprintf("%T", example),
		known: known, scheme: options.Scheme, version: version}, nil
}

// expectAnyKind is for objects whose Go type stands for many kinds. The caller may
// know the kind.
func expectAnyKind(
	resource schema.GroupVersionResource, partial bool, options ListWatchOptions,
) *expectedKind {
	gvk, goType := options.Kind, options.Kind.Kind
	if gvk.Empty() {
		gvk = resource.GroupVersion().WithKind(resource.Resource)
		goType = "kind of the resource " + resource.Resource
	}
	return &expectedKind{
		kind: gvk.Kind, asked: options.Kind, goType: goType, known: []schema.GroupVersionKind{gvk},
		partial: partial, scheme: options.Scheme, version: resource.GroupVersion(),
	}
}

// matches reports whether this is a kind of the type. The version may be missing.
func (e *expectedKind) matches(gvk schema.GroupVersionKind) bool {
	if e.partial && gvk == metadataKind {
		return true
	}
	// A server answers with v1 Statuses, and no collection has them as objects.
	mayBe := e.asked.Empty() && gvk.Kind != "" &&
		gvk.GroupKind() != (schema.GroupKind{Kind: "Status"})
	return (gvk.Kind == e.kind || mayBe) && e.matchesVersion(gvk.GroupVersion())
}

// isList is the same for a list.
func (e *expectedKind) isList(gvk schema.GroupVersionKind) bool {
	item, ok := strings.CutSuffix(gvk.Kind, "List")
	return ok && e.matches(gvk.GroupVersion().WithKind(item))
}

// mayBeList is for a custom resource whose definition gives the list a different name
// (names.listKind). The list of another type is refused.
func (e *expectedKind) mayBeList(gvk schema.GroupVersionKind) bool {
	item := strings.TrimSuffix(gvk.Kind, "List")
	return item != "" && item != e.kind && !e.scheme.Recognizes(e.version.WithKind(item)) &&
		e.matchesVersion(gvk.GroupVersion())
}

func (e *expectedKind) matchesVersion(version schema.GroupVersion) bool {
	return version.Empty() || slices.ContainsFunc(e.known, func(known schema.GroupVersionKind) bool {
		return known.Kind == e.kind && known.GroupVersion() == version
	})
}

// wrong is the error for an object, or a list, that is something else.
func (e *expectedKind) wrong(gvk schema.GroupVersionKind) error {
	sent, asked := "", e.goType
	version, kind := gvk.GroupVersion(), strings.TrimSuffix(gvk.Kind, "List")
	if kind == e.kind && !e.matchesVersion(version) {
		sent, asked = version.String()+" "+kind, e.known[0].GroupVersion().String()+" "+kind
	} else if object, err := e.scheme.New(e.version.WithKind(kind)); err == nil {
		sent = fmt.Sprintf("%T", object)
	} else {
		sent = strconv.Quote(gvk.Kind)
	}
	return fmt.Errorf("the server sent a %s where a %s was asked for: does the resource belong to "+
		"the Go type?", sent, asked)
}
