package informer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// expectedKind is the kind that objects must have. Without this check, a resource
// that does not belong to the Go type decodes without an error, into empty objects.
type expectedKind struct {
	kind    string                    // for errors and the flight recorder: the resource's name where the kind is not known
	asked   schema.GroupVersionKind   // empty if every kind of the resource's version will do
	goType  string                    // what was asked for, for errors
	known   []schema.GroupVersionKind // all names of the type
	partial bool                      // metadata that the server has cut out of a whole object will do
	scheme  *runtime.Scheme
	version schema.GroupVersion // of the resource
}

// expectKind asks the scheme for the names of a Go type. It must know the type.
func expectKind(example runtime.Object, version schema.GroupVersion, options ListWatchOptions) (*expectedKind, error) {
	known, _, err := options.Scheme.ObjectKinds(example)
	if err != nil {
		return nil, fmt.Errorf("the scheme does not know %T: add its package's AddToScheme to the scheme: %w", example, err)
	}
	asked := known[0]
	if !options.Kind.Empty() {
		if asked = options.Kind; !slices.Contains(known, asked) {
			return nil, fmt.Errorf("a %T is a %s and not a %s", example, known[0], asked)
		}
	}
	return &expectedKind{kind: asked.Kind, asked: asked, goType: fmt.Sprintf("%T", example), known: known, scheme: options.Scheme, version: version}, nil
}

// expectAnyKind is for objects whose Go type stands for many kinds. The caller may
// know the kind.
func expectAnyKind(resource schema.GroupVersionResource, partial bool, options ListWatchOptions) *expectedKind {
	name, goType := options.Kind, options.Kind.Kind
	if name.Empty() {
		name = resource.GroupVersion().WithKind(resource.Resource)
		goType = "kind of the resource " + resource.Resource
	}
	return &expectedKind{
		kind: name.Kind, asked: options.Kind, goType: goType, known: []schema.GroupVersionKind{name},
		partial: partial, scheme: options.Scheme, version: resource.GroupVersion(),
	}
}

// is reports whether this is a name of the type. The version may be missing.
func (e *expectedKind) is(name schema.GroupVersionKind) bool {
	if e.partial && name == metadataKind {
		return true
	}
	// A v1 Status is what a server answers with, and no object of any collection.
	mayBe := e.asked.Empty() && name.Kind != "" && name.GroupKind() != (schema.GroupKind{Kind: "Status"})
	return (name.Kind == e.kind || mayBe) && e.isOf(name.GroupVersion())
}

// isList is the same for a list.
func (e *expectedKind) isList(name schema.GroupVersionKind) bool {
	item, ok := strings.CutSuffix(name.Kind, "List")
	return ok && e.is(name.GroupVersion().WithKind(item))
}

// mayBeList is for a custom resource whose definition gives the list a name of
// its own (names.listKind). The list of another type is refused.
func (e *expectedKind) mayBeList(name schema.GroupVersionKind) bool {
	item := strings.TrimSuffix(name.Kind, "List")
	return item != "" && item != e.kind && !e.scheme.Recognizes(e.version.WithKind(item)) && e.isOf(name.GroupVersion())
}

func (e *expectedKind) isOf(version schema.GroupVersion) bool {
	return version.Empty() || slices.ContainsFunc(e.known, func(known schema.GroupVersionKind) bool {
		return known.Kind == e.kind && known.GroupVersion() == version
	})
}

// wrong is the error for an object, or a list, that is something else.
func (e *expectedKind) wrong(name schema.GroupVersionKind) error {
	sent, asked := "", e.goType
	if kind := strings.TrimSuffix(name.Kind, "List"); kind == e.kind && !e.isOf(name.GroupVersion()) {
		sent, asked = name.GroupVersion().String()+" "+kind, e.known[0].GroupVersion().String()+" "+kind
	} else if object, err := e.scheme.New(e.version.WithKind(kind)); err == nil {
		sent = fmt.Sprintf("%T", object)
	} else {
		sent = strconv.Quote(name.Kind)
	}
	return fmt.Errorf("the server sent a %s where a %s was asked for: does the resource belong to the Go type?", sent, asked)
}
