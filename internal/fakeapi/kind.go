package fakeapi

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// A Kind is what a test registers to have a resource served. It is the part
// of a CustomResourceDefinition that clients notice.
type Kind struct {
	Group, Version, Kind string
	// Resource is the plural name; the default is the kind in lower case with
	// an s.
	Resource   string
	ShortNames []string
	Categories []string
	// ClusterScoped resources have no namespace.
	ClusterScoped bool
	// Status splits the object: writes to it ignore the status, and writes to
	// its status subresource ignore the rest.
	Status bool
	// Scale serves the scale subresource.
	Scale *Scale
	// SelectableFields are JSON paths, such as ".spec.color", that field
	// selectors may name in addition to the object's name and namespace.
	SelectableFields []string
	// Example is an object of the Go type of a custom resource. If there is
	// one, its fields are the schema: others are reported as unknown and pruned.
	Example runtime.Object
}

// Scale says where a kind keeps its numbers of replicas, as JSON paths such
// as ".spec.replicas".
type Scale struct {
	SpecReplicas   string
	StatusReplicas string
	// LabelSelector is optional. It may hold a selector string, as in custom
	// resources, or a LabelSelector object, as in the built-in ones.
	LabelSelector string
}

func (k Kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// A resource is a registered kind with the rules of its life. The zero values
// of the rules are those of a custom resource.
type resource struct {
	Kind
	// typed kinds have a Go type in client-go's scheme, and protobuf.
	typed bool
	// apart: another version of the kind is served, too, and the fake cannot
	// convert, so that this one has objects of its own.
	apart bool
	// shared resources are the same ones in all servers.
	shared bool

	rules
}

// rules are the differences between built-in kinds that clients rely on.
type rules struct {
	// noGeneration kinds leave metadata.generation at 0.
	noGeneration bool
	// countsAnnotations and countsLabels: such a change is a new generation.
	countsAnnotations, countsLabels bool
	// name checks metadata.name; the default is a DNS subdomain.
	name func(name string, prefix bool) []string
	// needsVersion kinds refuse an update without a resourceVersion.
	needsVersion bool
	// createOnPut kinds are created by an update if they do not exist.
	createOnPut bool
	// returnsDeleted kinds answer a delete with the object, the others with a
	// Status.
	returnsDeleted bool
	// warning goes with every answer about the kind.
	warning string
	// orphans kinds leave their dependents alone unless a delete says otherwise.
	orphans bool
	// ignoresPropagation kinds never get the garbage collector's finalizers.
	ignoresPropagation bool
	// noDeleteCollection kinds refuse to be deleted by the set.
	noDeleteCollection bool
	// statusKeepsLabels: a status update cannot change labels.
	statusKeepsLabels bool

	// fields are what field selectors see; knownFields are the ones they may
	// name. A kind without them has its name and namespace.
	fields      func(obj runtime.Object) fields.Set
	knownFields []string
	// badField words the refusal of an unknown field.
	badField string

	// defaults fills in what the client left out, on every write.
	defaults func(obj runtime.Object)
	// creating sets what the server decides at creation.
	creating func(obj runtime.Object)
	// updating keeps what an update may not touch.
	updating func(obj, old runtime.Object)
	// updatingStatus does it for the status subresource.
	updatingStatus func(obj, old runtime.Object)
	// validate checks a new object, or an update if old is not nil.
	validate func(obj, old runtime.Object) field.ErrorList
	// grace is the number of seconds that a deletion waits for the owner of
	// the object to let go; nil kinds are removed at once.
	grace func(obj runtime.Object, asked *int64) int64
}

// newResource completes a registration.
func newResource(k Kind, r rules) (*resource, error) {
	if k.Kind == "" || k.Version == "" {
		return nil, fmt.Errorf("register kind %q: kind and version are required", k.Kind)
	}
	if k.Resource == "" {
		k.Resource = strings.ToLower(k.Kind) + "s"
	}
	res := &resource{Kind: k, typed: isBuiltin(k.gvk()), rules: r}
	// A PUT of a custom resource must say which version it replaces.
	res.needsVersion = res.needsVersion || !res.typed
	if !res.typed {
		res.fields = res.customFields
		res.knownFields = []string{"metadata.name", "metadata.namespace"}
		for _, path := range k.SelectableFields {
			res.knownFields = append(res.knownFields, strings.TrimPrefix(path, "."))
		}
		res.badField = "field label not supported: %s"
	}
	return res, nil
}

// isBuiltin says whether client-go knows the kind. Programs add custom
// resources to client-go's scheme, and these are not built in.
func isBuiltin(gvk schema.GroupVersionKind) bool {
	obj, err := scheme.Scheme.New(gvk)
	return err == nil && strings.HasPrefix(reflect.TypeOf(obj).Elem().PkgPath(), "k8s.io/api/")
}

// storage is where the objects of the resource are.
func (r *resource) storage() schema.GroupResource {
	if r.apart {
		return schema.GroupResource{Group: r.Group, Resource: r.Resource + "." + r.Version}
	}
	return r.gr()
}

func (r *resource) gr() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}
}

func (r *resource) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

func (r *resource) gk() schema.GroupKind { return schema.GroupKind{Group: r.Group, Kind: r.Kind.Kind} }

// apiVersion is the group and version as objects spell it.
func (r *resource) apiVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// new returns an empty object of the kind, with its type set.
func (r *resource) new() runtime.Object {
	if !r.typed {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(r.gvk())
		return u
	}
	obj, err := scheme.Scheme.New(r.gvk())
	if err != nil {
		panic(fmt.Sprintf("fakeapi: create an empty %s: %v", r.Kind.Kind, err))
	}
	obj.GetObjectKind().SetGroupVersionKind(r.gvk())
	return obj
}

// fieldSet is what field selectors match against.
func (r *resource) fieldSet(obj runtime.Object) fields.Set {
	m := metaOf(obj)
	set := fields.Set{"metadata.name": m.GetName()}
	if !r.ClusterScoped {
		set["metadata.namespace"] = m.GetNamespace()
	}
	if r.fields != nil {
		for key, value := range r.fields(obj) {
			set[key] = value
		}
	}
	return set
}

func (r *resource) customFields(obj runtime.Object) fields.Set {
	set := fields.Set{}
	for _, path := range r.SelectableFields {
		parts := splitPath(path)
		if value, ok, _ := unstructured.NestedFieldNoCopy(obj.(*unstructured.Unstructured).Object, parts...); ok {
			set[strings.Join(parts, ".")] = fmt.Sprint(value)
		} else {
			set[strings.Join(parts, ".")] = ""
		}
	}
	return set
}

// splitPath takes ".spec.replicas" apart.
func splitPath(path string) []string {
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}
