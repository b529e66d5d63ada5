package fake

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// kinds are the kinds that a client has met. They are registered with the server one by one, when
// a request needs them: a scheme may have hundreds. It is the RESTMapper of the client.
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

// kind is a kind as the server has it.
type kind struct {
	fakeapi.Kind
	scope scope
	// settled: it is known whether the kind is in namespaces. Until then every request decides it
	// anew, for there is no object that could contradict.
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

// inScope are kinds that are all in namespaces, or all in none.
type inScope struct {
	*kinds
	scope meta.RESTScope
}

// RESTMapping implements meta.RESTMapper.
func (in inScope) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := in.kinds.RESTMapping(gk, versions...)
	if err == nil {
		mapping.Scope = in.scope
	}
	return mapping, err
}

// meet returns a kind, of which an object in this namespace is asked for, or created.
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

// findLocked returns the kind, and registers it with the server if it is new.
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

// describe says all that can be known of a kind that the server has not served yet. sure is false
// if the scope is a guess.
func (ks *kinds) describe(gvk schema.GroupVersionKind) (k fakeapi.Kind, sure bool) {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	k = fakeapi.Kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Resource: plural.Resource, Status: ks.withStatus[gvk]}
	if example, err := ks.scheme.New(gvk); err == nil {
		if _, isMap := example.(runtime.Unstructured); !isMap {
			k.Example = example
		}
	}
	if ks.mapper != nil {
		if mapping, err := ks.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil && mapping.Scope != nil {
			k.Resource = mapping.Resource.Resource
			k.ClusterScoped = mapping.Scope.Name() == meta.RESTScopeNameRoot
			sure = true
		}
	}
	if isKubernetes(k.Example) {
		k.ClusterScoped = slices.Contains(inNoNamespace, gvk.Group+"/"+gvk.Kind)
		k.Status = k.Status || hasStatus(k.Example)
		return k, true
	}
	if slices.Contains(inNoNamespace, gvk.Group+"/"+gvk.Kind) { // those that aggregated servers have
		k.ClusterScoped, k.Status, sure = true, true, true
	}
	return k, sure
}

// isKubernetes says whether this is an object of a Kubernetes kind.
func isKubernetes(obj runtime.Object) bool {
	return obj != nil && strings.HasPrefix(reflect.TypeOf(obj).Elem().PkgPath(), "k8s.io/api/")
}

func hasStatus(obj runtime.Object) bool {
	_, found := reflect.TypeOf(obj).Elem().FieldByName("Status")
	return found
}
