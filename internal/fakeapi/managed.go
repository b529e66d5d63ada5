package fakeapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Field ownership, and with it server-side apply, is the library's work: this
// file gives it what it needs to know of a kind.

// managers keeps one field manager for each resource and subresource.
type managers struct {
	mu sync.Mutex // guards made
	// made is filled on demand: a manager is costly, and most tests write a
	// handful of kinds.
	made map[managed]*managedfields.FieldManager
	// schemas are asked for those of custom resources. They do not change.
	schemas []managedfields.TypeConverter
}

// FirstOf are converters, of which the first that knows a kind is used.
type FirstOf []managedfields.TypeConverter

// ObjectToTyped implements managedfields.TypeConverter.
func (f FirstOf) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	var errs []error
	for _, converter := range f {
		value, err := converter.ObjectToTyped(obj, options...)
		if err == nil {
			return value, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// TypedToObject implements managedfields.TypeConverter. All of them make a map.
func (f FirstOf) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return f[len(f)-1].TypedToObject(value)
}

// managed is what a field manager is for. The registration counts, not its
// name: a kind that is registered again may have other subresources.
type managed struct {
	res         *resource
	subresource string
}

// typeSchemas are the schemas of all built-in kinds. Parsing them takes a
// while, so all servers share them.
var typeSchemas = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// common has the field managers of shared resources.
var common managers

func (s *Server) managersOf(res *resource) *managers {
	if res.shared {
		return &common
	}
	return &s.managers
}

func (m *managers) of(res *resource, subresource string) (*managedfields.FieldManager, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := managed{res, subresource}
	if made := m.made[key]; made != nil {
		return made, nil
	}
	made, err := m.newFieldManager(res, subresource)
	if err != nil {
		return nil, fmt.Errorf("track the fields of %s: %w", res.Resource, err)
	}
	if m.made == nil {
		m.made = map[managed]*managedfields.FieldManager{}
	}
	m.made[key] = made
	return made, nil
}

func (m *managers) newFieldManager(res *resource, subresource string) (*managedfields.FieldManager, error) {
	reset := map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(res.apiVersion()): fieldpath.NewExcludeSetFilter(resetFields(res, subresource)),
	}
	known := kindOps{res}
	gv := res.gvk().GroupVersion()
	deduced := managedfields.NewDeducedTypeConverter()
	if !res.typed {
		return managedfields.NewDefaultCRDFieldManager(FirstOf(append(slices.Clip(m.schemas), deduced)), known, known, known, res.gvk(), gv, subresource, reset)
	}
	schemas := typeSchemas()
	if res == scaleResource {
		schemas = deduced // nothing is applied to a Scale but numbers, and there is no schema of it
	}
	return managedfields.NewDefaultFieldManager(schemas, known, known, known, res.gvk(), gv, subresource, reset)
}

// resetFields are the fields that a write to the subresource does not reach,
// and that its writer must therefore not come to own.
func resetFields(res *resource, subresource string) *fieldpath.Set {
	switch {
	case subresource == "status" && !res.typed:
		return fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	case subresource == "status":
		return fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	case res.Status:
		return fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	return fieldpath.NewSet()
}

// trackUpdate records in next what an update by manager changed.
func (s *Server) trackUpdate(res *resource, subresource string, old, next runtime.Object, manager string) (runtime.Object, error) {
	if s.options.NoManagedFields {
		metaOf(next).SetManagedFields(nil)
		return next, nil
	}
	fm, err := s.managersOf(res).of(res, subresource)
	if err != nil {
		return nil, err
	}
	if old == nil {
		old = res.new()
	} else {
		old = old.DeepCopyObject() // the library edits it
	}
	return fm.UpdateNoErrors(old, next, manager), nil
}

// apply merges an apply configuration into the stored object.
func (s *Server) apply(res *resource, subresource string, old runtime.Object, patch map[string]any, manager string, force bool) (runtime.Object, error) {
	fm, err := s.managersOf(res).of(res, subresource)
	if err != nil {
		return nil, err
	}
	if old == nil {
		old = res.new()
	} else {
		old = old.DeepCopyObject()
	}
	return fm.Apply(old, &unstructured.Unstructured{Object: patch}, manager, force)
}

// managerName is the given field manager, or the program's name from its user
// agent.
func managerName(given, userAgent string) string {
	if given != "" {
		return given
	}
	program, _, _ := strings.Cut(userAgent, "/")
	var b strings.Builder
	for _, r := range program {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > 128 {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// kindOps are the operations on one kind that the library asks for. There is
// one version of each kind, so converting is no work.
type kindOps struct{ res *resource }

func (k kindOps) Default(obj runtime.Object) {
	if k.res.defaults != nil {
		k.res.defaults(obj)
	}
}

func (k kindOps) New(schema.GroupVersionKind) (runtime.Object, error) { return k.res.new(), nil }

func (k kindOps) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: the fake serves one version of %s", in, out, k.res.Kind.Kind)
}

func (k kindOps) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok || !k.res.typed {
		return in, nil
	}
	out := k.res.new()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("convert to %T: %w", out, err)
	}
	out.GetObjectKind().SetGroupVersionKind(k.res.gvk())
	return out, nil
}

func (k kindOps) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
