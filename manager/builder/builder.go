// Package builder makes a controller from a sentence: a controller, managed by mgr, for
// ReplicaSets, which owns Pods.
//
//	err := builder.ControllerManagedBy(mgr).For(&appsv1.ReplicaSet{}).Owns(&corev1.Pod{}).Complete(reconciler)
//
// For, Owns and Watches become sources with their predicates and handlers. Complete makes the
// controller, gives it the sources and adds it to the manager.
//
// Neighbours: below it are the manager, the controller, and the sources, handlers and predicates,
// which a program can also use directly. Above it is the user's main.
package builder

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/internal/requestname"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// Builder is a TypedBuilder whose requests are the names of objects.
type Builder = TypedBuilder[reconcile.Request]

// TypedBuilder collects the description of a controller. If it's wrong, Complete and Build return
// an error, and nothing is added to the manager.
type TypedBuilder[request comparable] struct {
	manager    manager.Manager
	reconciled ForInput
	forTwice   bool
	owned      []OwnsInput
	watched    []WatchesInput[request]
	raw        []source.TypedSource[request]
	filters    []predicate.Predicate
	options    controller.TypedOptions[request]
	name       string
}

// ControllerManagedBy starts the description of a controller that the manager starts and stops.
func ControllerManagedBy(m manager.Manager) *Builder {
	return TypedControllerManagedBy[reconcile.Request](m)
}

// TypedControllerManagedBy is ControllerManagedBy for requests of your own type. Describe the
// controller with Named, Watches and WatchesRawSource.
func TypedControllerManagedBy[request comparable](m manager.Manager) *TypedBuilder[request] {
	return &TypedBuilder[request]{manager: m}
}

// For names the kind that is reconciled: each of its objects becomes a request, which has to be a
// reconcile.Request. Call it only once.
func (b *TypedBuilder[request]) For(object client.Object, opts ...ForOption) *TypedBuilder[request] {
	if b.reconciled.object != nil {
		b.forTwice = true
		return b
	}
	b.reconciled = ForInput{object: object}
	for _, opt := range opts {
		opt.ApplyToFor(&b.reconciled)
	}
	return b
}

// Owns names a kind whose objects are owned by objects of For's kind: when one of them changes, its
// owner is reconciled. By default that's the owner whose reference has controller: true; see
// MatchEveryOwner.
func (b *TypedBuilder[request]) Owns(object client.Object, opts ...OwnsOption) *TypedBuilder[request] {
	input := OwnsInput{object: object}
	for _, opt := range opts {
		opt.ApplyToOwns(&input)
	}
	b.owned = append(b.owned, input)
	return b
}

// Watches names a kind whose objects the handler maps to requests.
func (b *TypedBuilder[request]) Watches(
	object client.Object, eventHandler handler.TypedEventHandler[client.Object, request],
	opts ...WatchesOption,
) *TypedBuilder[request] {
	input := WatchesInput[request]{object: object, handler: eventHandler}
	for _, opt := range opts {
		opt.ApplyToWatches(&input)
	}
	b.watched = append(b.watched, input)
	return b
}

// WatchesMetadata is Watches with OnlyMetadata.
func (b *TypedBuilder[request]) WatchesMetadata(
	object client.Object, eventHandler handler.TypedEventHandler[client.Object, request],
	opts ...WatchesOption,
) *TypedBuilder[request] {
	return b.Watches(object, eventHandler, append(opts[:len(opts):len(opts)], OnlyMetadata)...)
}

// WatchesRawSource adds any other source. WithEventFilter doesn't apply to it.
func (b *TypedBuilder[request]) WatchesRawSource(
	src source.TypedSource[request],
) *TypedBuilder[request] {
	b.raw = append(b.raw, src)
	return b
}

// WithEventFilter adds a predicate for all kinds of For, Owns and Watches. It runs before their own
// predicates.
func (b *TypedBuilder[request]) WithEventFilter(p predicate.Predicate) *TypedBuilder[request] {
	b.filters = append(b.filters, p)
	return b
}

// WithOptions replaces all of the controller's options, so call it before WithLogConstructor.
func (b *TypedBuilder[request]) WithOptions(
	options controller.TypedOptions[request],
) *TypedBuilder[request] {
	b.options = options
	return b
}

// WithLogConstructor sets the option LogConstructor.
func (b *TypedBuilder[request]) WithLogConstructor(
	logConstructor func(*request) logr.Logger,
) *TypedBuilder[request] {
	b.options.LogConstructor = logConstructor
	return b
}

// Named sets the controller's name. The default is For's kind in lower case. Each controller of a
// process needs a different name, because it's in the metrics and in the log. Use letters, digits
// and underscores.
func (b *TypedBuilder[request]) Named(name string) *TypedBuilder[request] {
	b.name = name
	return b
}

// Complete makes the controller and adds it to the manager.
func (b *TypedBuilder[request]) Complete(r reconcile.TypedReconciler[request]) error {
	_, err := b.Build(r)
	return err
}

// Build is Complete for callers that need the controller, to call its Watch later for instance. The
// reconciler may be nil if WithOptions has one.
func (b *TypedBuilder[request]) Build(
	r reconcile.TypedReconciler[request],
) (controller.TypedController[request], error) {
	if b.manager == nil {
		return nil, errors.New("the builder needs a manager: ControllerManagedBy was given nil")
	}
	kind, err := b.kind()
	if err != nil {
		return nil, err
	}
	name := b.name
	if name == "" {
		if name = strings.ToLower(kind.Kind); name == "" {
			return nil, errors.New(
				"the controller has no name: call For, whose kind is the name, or Named")
		}
	}
	options, err := b.completeOptions(r, name, kind)
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	sources, err := b.sources()
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	return controller.NewTyped(name, withSources[request]{b.manager, sources}, options)
}

// withSources gives a controller its sources before the manager gets it. A running manager starts a
// runnable as soon as it's added, and workers must not start until the sources are ready.
type withSources[request comparable] struct {
	manager.Manager
	sources []source.TypedSource[request]
}

// Add implements controller.Manager.
func (m withSources[request]) Add(r manager.Runnable) error {
	for _, src := range m.sources {
		if err := r.(controller.TypedController[request]).Watch(src); err != nil {
			return err
		}
	}
	return m.Manager.Add(r)
}

// kind returns For's kind, or an empty one without For.
func (b *TypedBuilder[request]) kind() (schema.GroupVersionKind, error) {
	switch {
	case b.forTwice:
		return schema.GroupVersionKind{}, errors.New("For was called twice, and " +
			"a controller reconciles one kind: use Owns or Watches for the other")
	case b.reconciled.object == nil:
		return schema.GroupVersionKind{}, nil
	case event.IsNil(b.reconciled.object):
		return schema.GroupVersionKind{}, fmt.Errorf(
			"For was given a nil %T: give it an empty object of the kind", b.reconciled.object)
	}
	kind, err := apiutil.GVKForObject(b.reconciled.object, b.manager.GetScheme())
	if err != nil {
		return kind, fmt.Errorf("the kind of For is unknown: %w", err)
	}
	return kind, nil
}

// completeOptions fills in options from the kind and from the manager's settings for it.
// controller.New fills in the rest of these settings.
func (b *TypedBuilder[request]) completeOptions(
	r reconcile.TypedReconciler[request], name string, kind schema.GroupVersionKind,
) (controller.TypedOptions[request], error) {
	options := b.options
	switch {
	case r != nil && options.Reconciler != nil:
		return options, errors.New(
			"it has two reconcilers: one of WithOptions, and one of Complete or Build")
	case r != nil:
		options.Reconciler = r
	case options.Reconciler == nil:
		return options, errors.New("it needs a reconciler: Complete or Build was given nil")
	}
	if options.MaxConcurrentReconciles == 0 {
		concurrency := b.manager.GetControllerOptions().GroupKindConcurrency
		options.MaxConcurrentReconciles = concurrency[kind.GroupKind().String()]
	}
	if options.Kind == "" {
		options.Kind = kind.Kind
	}
	if options.LogConstructor == nil {
		options.LogConstructor = logConstructor[request](b.manager.GetLogger(), name, kind)
	}
	return options, nil
}

// logConstructor makes loggers with the controller's name, the kind and the object's name.
func logConstructor[request comparable](
	logger logr.Logger, name string, kind schema.GroupVersionKind,
) func(*request) logr.Logger {
	logger = logger.WithValues("controller", name)
	if kind.Kind != "" {
		logger = logger.WithValues("controllerGroup", kind.Group, "controllerKind", kind.Kind)
	}
	return func(req *request) logr.Logger {
		if req == nil {
			return logger
		}
		namespace, name := requestname.Of(req)
		if kind.Kind == "" {
			return logger.WithValues("namespace", namespace, "name", name)
		}
		key := types.NamespacedName{Namespace: namespace, Name: name}
		return logger.WithValues(kind.Kind, key, "namespace", namespace, "name", name)
	}
}

// sources makes the sources of For, Owns and Watches.
func (b *TypedBuilder[request]) sources() ([]source.TypedSource[request], error) {
	var all []source.TypedSource[request]
	add := func(
		method string, object client.Object, metadata bool,
		h handler.TypedEventHandler[client.Object, request], own []predicate.Predicate,
	) error {
		object, err := b.watchedAs(object, metadata)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case anyvalue.IsNil(h):
			return fmt.Errorf("%s: it was given a nil handler (%s)", method,
				anyvalue.TypeName(h))
		case slices.Contains(own, nil):
			return fmt.Errorf("%s: one of its predicates is nil", method)
		}
		all = append(all, source.TypedKind(b.manager.GetCache(), object, h,
			slices.Concat(b.filters, own)...))
		return nil
	}
	switch {
	case slices.Contains(b.filters, nil):
		return nil, errors.New("WithEventFilter was given a nil predicate")
	case b.reconciled.object != nil:
		input := b.reconciled
		h, err := ofNames[request]("For", &handler.EnqueueRequestForObject{})
		if err != nil {
			return nil, err
		}
		if err := add("For", input.object, input.onlyMetadata, h, input.predicates); err != nil {
			return nil, err
		}
	case len(b.owned) > 0:
		return nil, errors.New("Owns needs For: it is For's kind that the owners have")
	case len(b.watched)+len(b.raw) == 0:
		return nil, errors.New("nothing is watched, so nothing would ever be reconciled: " +
			"call For, Watches or WatchesRawSource")
	}
	for _, input := range b.owned {
		h, err := ofNames[request]("Owns", b.ownerHandler(input))
		if err != nil {
			return nil, err
		}
		if err := add("Owns", input.object, input.onlyMetadata, h, input.predicates); err != nil {
			return nil, err
		}
	}
	for _, input := range b.watched {
		if err := add("Watches", input.object, input.onlyMetadata, input.handler,
			input.predicates); err != nil {
			return nil, err
		}
	}
	for _, src := range b.raw {
		if anyvalue.IsNil(src) {
			return nil, fmt.Errorf("WatchesRawSource was given a nil source (%s)",
				anyvalue.TypeName(src))
		}
	}
	return append(all, b.raw...), nil
}

// ofNames returns an error if the controller's requests aren't the names of objects.
func ofNames[request comparable](
	method string, h handler.EventHandler,
) (handler.TypedEventHandler[client.Object, request], error) {
	typed, ok := h.(handler.TypedEventHandler[client.Object, request])
	if !ok {
		return nil, fmt.Errorf("%s makes a reconcile.Request, and the requests of this controller "+
			"are of type %s: use Watches, with a handler that makes them", method,
			reflect.TypeFor[request]())
	}
	return typed, nil
}

func (b *TypedBuilder[request]) ownerHandler(input OwnsInput) handler.EventHandler {
	var opts []handler.OwnerOption
	if !input.everyOwner {
		opts = append(opts, handler.OnlyControllerOwner())
	}
	return handler.EnqueueRequestForOwner(b.manager.GetScheme(), b.manager.GetRESTMapper(),
		b.reconciled.object, opts...)
}

// watchedAs returns an object that tells the cache which kind to watch, and in which form.
func (b *TypedBuilder[request]) watchedAs(object client.Object, onlyMetadata bool) (client.Object, error) {
	if event.IsNil(object) {
		return nil, fmt.Errorf("it was given a nil %T: give it an empty object of the kind", object)
	}
	kind, err := apiutil.GVKForObject(object, b.manager.GetScheme())
	if err != nil {
		return nil, fmt.Errorf("the kind is unknown; was its AddToScheme called? %w", err)
	}
	if !onlyMetadata {
		return object, nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	return metadata, nil
}
