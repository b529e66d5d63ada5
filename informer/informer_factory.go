package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/trace"
)

// Factory shares informers: everybody who requests a collection in the same form gets the same
// informer. Another form of the collection is another informer, with its own watch: a Go type drops
// the fields that it doesn't have, so its objects are useless to readers who want the whole object.
//
// All informers share one HTTP client, and so one connection if the server speaks HTTP/2.
//
// client-go's factories are generated for a set of kinds, and share by Go type: a namespace or a
// selector is a property of the whole factory.
type Factory struct {
	config  *rest.Config
	options FactoryOptions
	joined  chan struct{} // sent to by InformerFor, received by Run; one, because Run looks at all

	mu sync.Mutex // guards what follows
	// with their Form; members that are ending stay until Stop has reported it
	members map[Collection]*member
	ran     bool // Run was called
	ended   bool // Run accepts no more members
}

// member is an informer of a factory.
type member struct {
	informer runner
	stop     chan struct{} // closed by Stop
	stopOnce func()
	done     chan struct{} // closed when Run of the informer has returned
	started  bool          // guarded by Factory.mu
	failure  error         // may be read after done
}

var (
	errFactoryRan     = errors.New("the factory was run before: make another one")
	errFactoryStopped = errors.New("the factory has stopped: make another one")
)

// runner is what a factory needs of an informer of any type.
type runner interface {
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
}

// NewFactory returns a factory without informers.
func NewFactory(config *rest.Config, options FactoryOptions) *Factory {
	return &Factory{config: config, options: options, joined: make(chan struct{}, 1),
		members: map[Collection]*member{}}
}

// InformerFor returns the informer of a collection. It makes one if there is none, or if the old
// one was stopped or gave up. Run starts it, even if Run is already running; when Run has ended,
// InformerFor returns an error. It's a function because Go has no generic methods.
//
// Caveats: an informer has one Go type. Requesting typed Pods as *corev1.Pod and as Object is an
// error, because it would take two watches for the same objects.
func InformerFor[T Object](f *Factory, of Collection) (*Informer[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return nil, fmt.Errorf("sharing an informer of %s: %w", of, errFactoryStopped)
	}
	client, err := f.httpClientLocked()
	if err != nil {
		return nil, fmt.Errorf("sharing an informer of %s: %w", of, err)
	}
	from, err := NewListWatch[T](f.config, of.Resource, f.options.listWatch(of, client))
	if err != nil {
		return nil, err
	}
	key := of
	if key.Form = from.form; key.Form == FormTyped {
		key.Kind = schema.GroupVersionKind{} // the Go type says it
	}
	if m := f.members[key]; m != nil && !m.isEnding() {
		shared, ok := m.informer.(*Informer[T])
		if !ok {
			return nil, fmt.Errorf("sharing an informer of %s: there is one of another Go type, %T", key,
				m.informer)
		}
		return shared, nil
	}
	informer := NewInformer(from, informerOptions[T](f.options))
	m := &member{informer: informer, stop: make(chan struct{}), done: make(chan struct{})}
	m.stopOnce = sync.OnceFunc(func() { close(m.stop) })
	f.members[key] = m
	select {
	case f.joined <- struct{}{}:
	default:
	}
	return informer, nil
}

// httpClientLocked returns the client of all informers. It's made with the first one, because
// NewFactory has no error to return.
func (f *Factory) httpClientLocked() (*http.Client, error) {
	if f.options.HTTPClient == nil {
		client, err := newHTTPClient(f.config)
		if err != nil {
			return nil, err
		}
		f.options.HTTPClient = client
	}
	return f.options.HTTPClient, nil
}

// Run runs all informers, including those that are made later, until the context ends. It returns
// when all of them have stopped, so it waits for calls of their handlers. The error names the
// informers that gave up, except those that were stopped or replaced since. Call it only once.
func (f *Factory) Run(ctx context.Context) error {
	f.mu.Lock()
	ran := f.ran
	f.ran = true
	f.mu.Unlock()
	if ran {
		return errFactoryRan
	}
	var running sync.WaitGroup
	for f.start(ctx, &running) {
		select {
		case <-f.joined:
		case <-ctx.Done():
		}
	}
	running.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	var failures []error
	for _, of := range sorted(f.members) {
		if err := f.members[of].failure; err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", of, err))
		}
	}
	return errors.Join(failures...)
}

// start starts the new members, and reports whether more may come. If the context has ended, it
// still starts them: they end at once, and so do the waits for them.
func (f *Factory) start(ctx context.Context, running *sync.WaitGroup) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = ctx.Err() != nil
	for _, m := range f.members {
		if !m.started {
			m.started = true
			running.Go(func() { m.run(ctx) })
		}
	}
	return !f.ended
}

func (m *member) run(ctx context.Context) {
	defer close(m.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var stopping sync.WaitGroup
	stopping.Go(func() {
		select {
		case <-m.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	m.failure = m.informer.Run(ctx)
	cancel()
	stopping.Wait()
}

// WaitForSync waits until all existing informers have their first list. The error names those that
// don't, and says why.
func (f *Factory) WaitForSync(ctx context.Context) error {
	f.mu.Lock()
	members := maps.Clone(f.members)
	f.mu.Unlock()
	var failures []error
	for _, of := range sorted(members) {
		if err := members[of].informer.WaitForSync(ctx); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", of, err))
		}
	}
	return errors.Join(failures...)
}

func sorted(members map[Collection]*member) []Collection {
	byName := func(a, b Collection) int { return cmp.Compare(a.String(), b.String()) }
	return slices.SortedFunc(maps.Keys(members), byName)
}

// Stop stops the informer of a collection and waits until it has ended, including calls of its
// handlers; others keep running. A collection without a Form means all forms of it. If the context
// ends first, you may call Stop again. The next InformerFor makes a new one. The error is the
// informer's, if it gave up.
func (f *Factory) Stop(ctx context.Context, of Collection) error {
	f.mu.Lock()
	members := maps.Clone(f.members)
	f.mu.Unlock()
	maps.DeleteFunc(members, func(key Collection, _ *member) bool { return !of.includes(key) })
	for _, m := range members {
		m.stopOnce()
	}
	var failures []error
	for _, key := range sorted(members) {
		failures = append(failures, f.await(ctx, key, members[key]))
	}
	return errors.Join(failures...)
}

// await waits until a member that was told to stop has ended, and drops it.
func (f *Factory) await(ctx context.Context, key Collection, m *member) error {
	f.mu.Lock()
	if !m.started {
		m.started = true // here, so that Run doesn't start it
		f.mu.Unlock()
		m.runEnded()
	} else {
		f.mu.Unlock()
	}
	select {
	case <-m.done:
	default:
		select {
		case <-m.done:
		case <-ctx.Done():
			return fmt.Errorf("stopping the informer of %s: %w", key, context.Cause(ctx))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members[key] == m {
		delete(f.members, key)
	}
	return m.failure
}

// runEnded runs an informer that was never started, only to end it, and with it its handlers and
// all waits for it.
func (m *member) runEnded() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.run(ctx)
}

// isEnding reports whether the informer was stopped, or has ended by itself.
func (m *member) isEnding() bool {
	select {
	case <-m.stop:
		return true
	case <-m.done:
		return true
	default:
		return false
	}
}

// Collection names the objects that an informer watches: a kind, maybe in one namespace, and maybe
// only the objects that selectors match.
type Collection struct {
	Resource schema.GroupVersionResource
	// Form and Kind are needed if the Go type doesn't decide them; see ListWatchOptions.
	Form          Form
	Kind          schema.GroupVersionKind
	Namespace     string
	LabelSelector string
	FieldSelector string
}

// String is for errors.
func (c Collection) String() string {
	text := c.Resource.GroupResource().String()
	if c.Form == FormUnstructured || c.Form == FormMetadata {
		text = c.Form.String() + " " + text
	}
	if c.Namespace != "" {
		text += " in namespace " + c.Namespace
	}
	if picked := strings.Trim(c.LabelSelector+" "+c.FieldSelector, " "); picked != "" {
		text += " with " + picked
	}
	return text
}

// includes reports whether one is the other, or a form of it.
func (c Collection) includes(one Collection) bool {
	if c.Form == FormOfType {
		c.Form = one.Form
	}
	if c.Kind.Empty() || one.Form == FormTyped {
		c.Kind = one.Kind
	}
	return c == one
}

// FactoryOptions are the options of all informers of a factory. You can leave every field empty.
type FactoryOptions struct {
	// Scheme knows the Go types of the kinds. The default is client-go's.
	Scheme *runtime.Scheme
	// HTTPClient sends the requests of all informers. By default, the factory makes
	// one from its config. Its Timeout isn't used, because it would end every watch.
	HTTPClient *http.Client
	// DropManagedFields makes objects smaller before they're stored.
	DropManagedFields bool
	// Transform changes the objects of all kinds before they're stored, after DropManagedFields. It
	// must return an object of the same Go type.
	Transform Transform[Object]
	// OnTransformError is called when Transform fails; see InformerOptions.OnTransformError.
	OnTransformError func(*TransformError)
	// OnPanic is called when a handler has panicked; by default the panic is logged.
	OnPanic func(HandlerPanic)
	// RecoverPanics lets the process survive panics of handlers. InformerOptions.RecoverPanics says
	// what that costs.
	RecoverPanics bool
	// DetectMutations turns on the test mode of all informers.
	DetectMutations func(was, is Object)
	Reflector       ReflectorOptions
	Recorder        *trace.Recorder
	// Metrics makes the metrics of the handlers; nil measures nothing.
	Metrics MetricsProvider
}

// listWatch returns the options for reading a collection.
func (o FactoryOptions) listWatch(of Collection, client *http.Client) ListWatchOptions {
	return ListWatchOptions{
		Namespace: of.Namespace, LabelSelector: of.LabelSelector, FieldSelector: of.FieldSelector,
		Form: of.Form, Kind: of.Kind, Scheme: o.Scheme, HTTPClient: client, Recorder: o.Recorder,
	}
}

// informerOptions converts the options of all kinds to the type of one.
func informerOptions[T Object](o FactoryOptions) InformerOptions[T] {
	options := InformerOptions[T]{
		OnTransformError: o.OnTransformError, OnPanic: o.OnPanic, RecoverPanics: o.RecoverPanics,
		Reflector: o.Reflector, Recorder: o.Recorder, Metrics: o.Metrics,
	}
	if o.DetectMutations != nil {
		options.DetectMutations = func(was, is T) { o.DetectMutations(was, is) }
	}
	switch {
	case o.Transform != nil:
		options.Transform = func(object T) (T, error) { return transformOne(o, object) }
	case o.DropManagedFields:
		options.Transform = DropManagedFields[T]
	}
	return options
}

// transformOne applies both transforms to an object of one kind.
func transformOne[T Object](o FactoryOptions, object T) (T, error) {
	if o.DropManagedFields {
		object, _ = DropManagedFields(object) // it has no errors
	}
	changed, err := o.Transform(object)
	if err != nil {
		return object, err
	}
	same, ok := changed.(T)
	if !ok {
		return object, fmt.Errorf("it returned a %T for a %T", changed, object)
	}
	return same, nil
}
