package fake

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// kinds are the kinds that a client has met. They're registered with the server one by one, when a
// request needs them: a scheme may have hundreds. It's the client's RESTMapper.
type kinds struct {
	server     *fakeapi.Server
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper // the user's, or nil
	withStatus map[schema.GroupVersionKind]bool

	mu  sync.Mutex // guards met, and what is in the kinds
	met map[schema.GroupVersionKind]*kind
}

func newKinds(server *fakeapi.Server, scheme *runtime.Scheme, mapper meta.RESTMapper) *kinds {
	return &kinds{server: server, scheme: scheme, mapper: mapper,
		withStatus: map[schema.GroupVersionKind]bool{}, met: map[schema.GroupVersionKind]*kind{}}
}

// kind is a kind as the server knows it.
type kind struct {
	fakeapi.Kind
	scope scope
	// settled: we know whether the kind is namespaced. Until then every request decides it again,
	// because no object can contradict it.
	settled bool
}

func (k *kind) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

// scope is a meta.RESTScope that may change.
type scope struct{ root atomic.Bool }

// Name implements meta.RESTScope.
func (s *scope) Name() meta.RESTScopeName {
	if s.root.Load() {
		return meta.RESTScopeNameRoot
	}
	return meta.RESTScopeNameNamespace
}

// meet returns a kind when an object in this namespace is requested or created.
func (ks *kinds) meet(gvk schema.GroupVersionKind, namespace string, creates bool) *kind {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	k := ks.findLocked(gvk)
	if k.settled {
		return k
	}
	if root := namespace == ""; root != k.ClusterScoped {
		k.ClusterScoped = root
		k.scope.root.Store(root)
		ks.server.Register(k.Kind)
	}
	k.settled = creates
	return k
}

// findLocked returns the kind, and registers it with the server if it's new.
func (ks *kinds) findLocked(gvk schema.GroupVersionKind) *kind {
	if k := ks.met[gvk]; k != nil {
		return k
	}
	k := &kind{settled: true}
	ks.met[gvk] = k
	var served bool
	if k.Kind, served = ks.server.Served(gvk); !served {
		k.Kind, k.settled = ks.describe(gvk)
		ks.server.Register(k.Kind)
	}
	k.scope.root.Store(k.ClusterScoped)
	return k
}

// describe returns everything that we can know about a kind that the server hasn't served yet. sure
// is false if the scope is a guess.
func (ks *kinds) describe(gvk schema.GroupVersionKind) (k fakeapi.Kind, sure bool) {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	k = fakeapi.Kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
		Resource: plural.Resource, Status: ks.withStatus[gvk]}
	if example, err := ks.scheme.New(gvk); err == nil {
		if _, isMap := example.(runtime.Unstructured); !isMap {
			k.Example = example
		}
	}
	if ks.mapper != nil {
		if mapping, err := ks.mapper.RESTMapping(gvk.GroupKind(),
			gvk.Version); err == nil && mapping.Scope != nil {
			k.Resource = mapping.Resource.Resource
			k.ClusterScoped = mapping.Scope.Name() == meta.RESTScopeNameRoot
			sure = true
		}
	}
	switch root, known := isClusterScoped(gvk); {
	case known:
		k.ClusterScoped, sure = root, true
	// of aggregated servers
	case gvk.Group == "apiextensions.k8s.io" || gvk.Group == "apiregistration.k8s.io":
		k.ClusterScoped, k.Status, sure = true, true, true
	}
	if k.Example != nil && strings.HasPrefix(reflect.TypeOf(k.Example).Elem().PkgPath(),
		"k8s.io/api/") {
		k.Status = k.Status || hasStatus(k.Example)
	}
	return k, sure
}

// isClusterScoped reports whether a Kubernetes kind has no namespaces. A Go type doesn't show that,
// but the generated clients do: CoreV1().Pods(namespace), and CoreV1().Nodes().
func isClusterScoped(gvk schema.GroupVersionKind) (root, known bool) {
	obj, err := scheme.Scheme.New(gvk)
	if err != nil {
		return false, false
	}
	root, known = clusterScoped()[reflect.TypeOf(obj)]
	return root, known
}

var clusterScoped = sync.OnceValue(func() map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	for group := range reflect.TypeFor[kubernetes.Interface]().Methods() {
		for resource := range group.Type.Out(0).Methods() {
			if resource.Type.NumOut() != 1 {
				continue
			}
			if create, ok := resource.Type.Out(0).MethodByName("Create"); ok {
				found[create.Type.Out(0)] = resource.Type.NumIn() == 0
			}
		}
	}
	return found
})

func hasStatus(obj runtime.Object) bool {
	_, found := reflect.TypeOf(obj).Elem().FieldByName("Status")
	return found
}
