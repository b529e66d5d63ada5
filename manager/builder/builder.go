// Package builder makes a controller from a sentence: a controller, managed by mgr, for
// ReplicaSets, which owns Pods.
//
//	err := builder.ControllerManagedBy(mgr).For(&appsv1.ReplicaSet{}).Owns(&corev1.Pod{}).Complete(reconciler)
//
// For, Owns and Watches become sources with their predicates and handlers; Complete makes the
// controller, gives it the sources and adds it to the manager.
//
// Neighbours: below it are the manager and the controller, and the sources, handlers and
// predicates: a program may use them directly. Above it is the user's main.
package builder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// Builder collects the description of a controller. Complete and Build return an error if it is
// wrong; nothing is added to the manager then.
type Builder struct {
	manager    manager.Manager
	reconciled ForInput
	forTwice   bool
	owned      []OwnsInput
	watched    []WatchesInput
	raw        []source.Source
	filters    []predicate.Predicate
	options    controller.Options
	name       string
}

// ControllerManagedBy starts the description of a controller that the manager starts and stops.
func ControllerManagedBy(m manager.Manager) *Builder { return &Builder{manager: m} }

// For names the kind that is reconciled: each of its objects becomes a request. It may be called
// once.
func (b *Builder) For(object client.Object, opts ...ForOption) *Builder {
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

// Owns names a kind whose objects are owned by objects of For's kind: when one changes, its owner
// is the request. By default that is the owner whose reference has controller: true; see
// MatchEveryOwner.
func (b *Builder) Owns(object client.Object, opts ...OwnsOption) *Builder {
	input := OwnsInput{object: object}
	for _, opt := range opts {
		opt.ApplyToOwns(&input)
	}
	b.owned = append(b.owned, input)
	return b
}

// Watches names a kind whose objects the handler maps to requests.
func (b *Builder) Watches(
	object client.Object, eventHandler handler.EventHandler, opts ...WatchesOption,
) *Builder {
	input := WatchesInput{object: object, handler: eventHandler}
	for _, opt := range opts {
		opt.ApplyToWatches(&input)
	}
	b.watched = append(b.watched, input)
	return b
}

// WatchesMetadata is Watches with OnlyMetadata.
func (b *Builder) WatchesMetadata(
	object client.Object, eventHandler handler.EventHandler, opts ...WatchesOption,
) *Builder {
	return b.Watches(object, eventHandler, append(opts[:len(opts):len(opts)], OnlyMetadata)...)
}

// WatchesRawSource adds any other source. WithEventFilter does not filter it.
func (b *Builder) WatchesRawSource(src source.Source) *Builder {
	b.raw = append(b.raw, src)
	return b
}

// WithEventFilter adds a predicate for all kinds of For, Owns and Watches. It runs before their own
// predicates.
func (b *Builder) WithEventFilter(p predicate.Predicate) *Builder {
	b.filters = append(b.filters, p)
	return b
}

// WithOptions replaces all of the controller's options: call it before WithLogConstructor.
func (b *Builder) WithOptions(options controller.Options) *Builder {
	b.options = options
	return b
}

// WithLogConstructor sets the option LogConstructor.
func (b *Builder) WithLogConstructor(logConstructor func(*reconcile.Request) logr.Logger) *Builder {
	b.options.LogConstructor = logConstructor
	return b
}

// Named sets the controller's name; the default is For's kind in lower case. Each controller of a
// process needs a different name, because it is in the metrics and in the log; use letters, digits
// and underscores.
func (b *Builder) Named(name string) *Builder {
	b.name = name
	return b
}

// Complete makes the controller and adds it to the manager.
func (b *Builder) Complete(r reconcile.Reconciler) error {
	_, err := b.Build(r)
	return err
}

// Build is Complete for callers that need the controller, for example to call its Watch later. The
// reconciler may be nil if WithOptions has one.
func (b *Builder) Build(r reconcile.Reconciler) (controller.Controller, error) {
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
	return controller.New(name, withSources{b.manager, sources}, options)
}

// withSources gives a controller its sources before the manager has it. A manager that runs starts
// a runnable as soon as it is added, and workers must not begin before the sources are ready.
type withSources struct {
	manager.Manager
	sources []source.Source
}

// Add implements controller.Manager.
func (m withSources) Add(r manager.Runnable) error {
	for _, src := range m.sources {
		if err := r.(controller.Controller).Watch(src); err != nil {
			return err
		}
	}
	return m.Manager.Add(r)
}

// kind returns For's kind, or an empty one without For.
func (b *Builder) kind() (schema.GroupVersionKind, error) {
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
		return kind, fmt.Errorf("the kind of For is not known: %w", err)
	}
	return kind, nil
}

// completeOptions fills in options from the kind and from the manager's settings for it.
// controller.New fills in the rest of these settings.
func (b *Builder) completeOptions(
	r reconcile.Reconciler, name string, kind schema.GroupVersionKind,
) (controller.Options, error) {
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
		options.LogConstructor = logConstructor(b.manager.GetLogger(), name, kind)
	}
	return options, nil
}

// logConstructor makes loggers with the names of the controller, the kind and the object.
func logConstructor(
	logger logr.Logger, name string, kind schema.GroupVersionKind,
) func(*reconcile.Request) logr.Logger {
	logger = logger.WithValues("controller", name)
	if kind.Kind != "" {
		logger = logger.WithValues("controllerGroup", kind.Group, "controllerKind", kind.Kind)
	}
	return func(request *reconcile.Request) logr.Logger {
		switch {
		case request == nil:
			return logger
		case kind.Kind == "":
			return logger.WithValues("namespace", request.Namespace, "name", request.Name)
		default:
			return logger.WithValues(kind.Kind, request.NamespacedName,
				"namespace", request.Namespace, "name", request.Name)
		}
	}
}

// sources makes the sources of For, Owns and Watches.
func (b *Builder) sources() ([]source.Source, error) {
	var all []source.Source
	add := func(
		method string, object client.Object, metadata bool, h handler.EventHandler,
		own []predicate.Predicate,
	) error {
		object, err := b.watchedAs(object, metadata)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case anyvalue.IsNil(h):
			return fmt.Errorf("%s: it was given a nil handler (%T)", method, h)
		case slices.Contains(own, nil):
			return fmt.Errorf("%s: one of its predicates is nil", method)
		}
		all = append(all, source.Kind(b.manager.GetCache(), object, h,
			slices.Concat(b.filters, own)...))
		return nil
	}
	switch {
	case slices.Contains(b.filters, nil):
		return nil, errors.New("WithEventFilter was given a nil predicate")
	case b.reconciled.object != nil:
		input := b.reconciled
		if err := add("For", input.object, input.onlyMetadata, &handler.EnqueueRequestForObject{},
			input.predicates); err != nil {
			return nil, err
		}
	case len(b.owned) > 0:
		return nil, errors.New("Owns needs For: it is For's kind that the owners have")
	case len(b.watched)+len(b.raw) == 0:
		return nil, errors.New("nothing is watched, so nothing would ever be reconciled: " +
			"call For, Watches or WatchesRawSource")
	}
	for _, input := range b.owned {
		if err := add("Owns", input.object, input.onlyMetadata, b.ownerHandler(input),
			input.predicates); err != nil {
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
			return nil, fmt.Errorf("WatchesRawSource was given a nil source (%T)", src)
		}
	}
	return append(all, b.raw...), nil
}

func (b *Builder) ownerHandler(input OwnsInput) handler.EventHandler {
	var opts []handler.OwnerOption
	if !input.everyOwner {
		opts = append(opts, handler.OnlyControllerOwner())
	}
	return handler.EnqueueRequestForOwner(b.manager.GetScheme(), b.manager.GetRESTMapper(),
		b.reconciled.object, opts...)
}

// watchedAs returns the object from which the cache takes the kind and the form to watch.
func (b *Builder) watchedAs(object client.Object, onlyMetadata bool) (client.Object, error) {
	if event.IsNil(object) {
		return nil, fmt.Errorf("it was given a nil %T: give it an empty object of the kind", object)
	}
	kind, err := apiutil.GVKForObject(object, b.manager.GetScheme())
	if err != nil {
		return nil, fmt.Errorf("the kind is not known, was its AddToScheme called? %w", err)
	}
	if !onlyMetadata {
		return object, nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	return metadata, nil
}
