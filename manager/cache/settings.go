package cache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// settings is what the Options say about kinds. It decides which informers a kind has, and knows
// neither informers nor a connection.
type settings struct {
	byKind     map[schema.GroupVersionKind]ByObject
	namespaces map[string]Config
	defaults   Config
	sharded    bool
}

// scope is the part of a kind that one informer holds: the objects of a namespace, or of all, that
// the selectors match.
type scope struct {
	namespace string // reads find it by this one; empty for all namespaces without a scope of their own
	watched   string // in the request: the same, unless the field selector names one
	label     labels.Selector
	field     fields.Selector

	transform informer.TransformFunc
	zeroCopy  bool
	bookmarks bool
	resyncs   time.Duration
	sharded   bool // only the objects of the cache's shard
}

// defaultSyncPeriod is controller-runtime's.
const defaultSyncPeriod = 10 * time.Hour

// newSettings reads the Options. It looks up ByObject's kinds in the scheme. If the server already
// knows a kind, it also checks whether the kind has namespaces.
func newSettings(opts Options) (settings, error) {
	s := settings{
		byKind:     map[schema.GroupVersionKind]ByObject{},
		namespaces: maps.Clone(opts.DefaultNamespaces), sharded: opts.Shard != nil,
		defaults: Config{
			LabelSelector: opts.DefaultLabelSelector, FieldSelector: opts.DefaultFieldSelector,
			Transform:             opts.DefaultTransform,
			UnsafeDisableDeepCopy: opts.DefaultUnsafeDisableDeepCopy,
			EnableWatchBookmarks:  opts.DefaultEnableWatchBookmarks,
			SyncPeriod:            opts.SyncPeriod,
		},
	}
	for object, of := range opts.ByObject {
		gvk, err := apiutil.GVKForObject(object, opts.Scheme)
		if err != nil {
			return s, fmt.Errorf("reading ByObject: the kind of a %T: %w", object, err)
		}
		if _, twice := s.byKind[gvk]; twice {
			return s, fmt.Errorf("reading ByObject: %s is in it twice", gvk)
		}
		of.Namespaces = maps.Clone(of.Namespaces)
		s.byKind[gvk] = of
		if of.Namespaces == nil {
			continue
		}
		mapping, err := opts.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		// it may be installed later; controller-runtime refuses to start
		case meta.IsNoMatchError(err):
		case err != nil:
			return s, fmt.Errorf("reading ByObject: the resource of %s: %w", gvk, err)
		default:
			if _, err := s.scopes(gvk,
				mapping.Scope.Name() == meta.RESTScopeNameNamespace); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// scopes returns the scopes of a kind, sorted by namespace.
func (s settings) scopes(gvk schema.GroupVersionKind, namespaced bool) ([]scope, error) {
	of, named := s.byKind[gvk]
	own := Config{
		LabelSelector: of.Label, FieldSelector: of.Field, Transform: of.Transform,
		UnsafeDisableDeepCopy: of.UnsafeDisableDeepCopy,
		EnableWatchBookmarks:  of.EnableWatchBookmarks, SyncPeriod: of.SyncPeriod,
	}
	if !namespaced && of.Namespaces != nil {
		return nil, fmt.Errorf("ByObject gives %s Namespaces, but objects of this kind are in none",
			gvk)
	}
	namespaces := s.namespaces
	if named && of.Namespaces != nil {
		namespaces = of.Namespaces
	}
	sharded := s.sharded && namespaced && !of.KeepWhole
	if !namespaced || len(namespaces) == 0 {
		all := newScope(AllNamespaces, nil, own.or(s.defaults), namespaced)
		all.sharded = sharded
		return []scope{all}, nil
	}
	var scopes []scope
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		config := namespaces[namespace].or(own).or(s.namespaces[namespace]).or(s.defaults)
		one := newScope(namespace, namespaces, config, namespaced)
		one.sharded = sharded
		scopes = append(scopes, one)
	}
	return scopes, nil
}

// or fills in the settings that a Config leaves empty.
func (c Config) or(next Config) Config {
	if c.LabelSelector == nil {
		c.LabelSelector = next.LabelSelector
	}
	if c.FieldSelector == nil {
		c.FieldSelector = next.FieldSelector
	}
	if c.Transform == nil {
		c.Transform = next.Transform
	}
	c.UnsafeDisableDeepCopy = cmp.Or(c.UnsafeDisableDeepCopy, next.UnsafeDisableDeepCopy)
	c.EnableWatchBookmarks = cmp.Or(c.EnableWatchBookmarks, next.EnableWatchBookmarks)
	c.SyncPeriod = cmp.Or(c.SyncPeriod, next.SyncPeriod)
	return c
}

// newScope returns the scope of a Config whose empty settings all have defaults of their own.
// others are the kind's namespaces: a scope for all the rest leaves them out.
func newScope(namespace string, others map[string]Config, config Config, namespaced bool) scope {
	s := scope{
		namespace: namespace, watched: namespace, label: config.LabelSelector,
		field:     config.FieldSelector,
		transform: config.Transform, bookmarks: true, resyncs: defaultSyncPeriod,
	}
	if config.UnsafeDisableDeepCopy != nil {
		s.zeroCopy = *config.UnsafeDisableDeepCopy
	}
	if config.EnableWatchBookmarks != nil {
		s.bookmarks = *config.EnableWatchBookmarks
	}
	if config.SyncPeriod != nil {
		s.resyncs = *config.SyncPeriod
	}
	if matchesNothing(s.label, s.field) {
		s.label, s.field = neverThere, nil
		return s
	}
	if namespace != AllNamespaces {
		return s
	}
	if s.field != nil && namespaced {
		// A selector for one namespace works without the permission to read them all.
		s.watched, _ = s.field.RequiresExactMatch("metadata.namespace")
	}
	var rest []fields.Selector
	for _, other := range slices.Sorted(maps.Keys(others)) {
		if other != AllNamespaces {
			rest = append(rest, fields.OneTermNotEqualSelector("metadata.namespace", other))
		}
	}
	if len(rest) == 0 {
		return s
	}
	if s.field != nil && !s.field.Empty() {
		rest = append(rest, s.field)
	}
	s.field = fields.AndSelectors(rest...)
	return s
}

// neverThere matches nothing, like labels.Nothing(). But the text of labels.Nothing() is empty,
// like that of a selector which matches everything, so the server would send all objects.
//
// controller-runtime sends the empty text.
var neverThere = func() labels.Selector {
	const label = "nothing"
	is, _ := labels.NewRequirement(label, selection.Exists, nil)
	isNot, _ := labels.NewRequirement(label, selection.DoesNotExist, nil)
	return labels.NewSelector().Add(*is, *isNot)
}()

func matchesNothing(label labels.Selector, field fields.Selector) bool {
	return label != nil && !label.Empty() && label.String() == "" ||
		field != nil && !field.Empty() && field.String() == ""
}

// String is for errors.
func (s scope) String() string {
	if s.watched == "" {
		return "in all namespaces"
	}
	return "in namespace " + s.watched
}

func (s scope) labelText() string {
	if s.label == nil {
		return ""
	}
	return s.label.String()
}

func (s scope) fieldText() string {
	if s.field == nil {
		return ""
	}
	return s.field.String()
}
