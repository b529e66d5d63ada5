package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/trace"
)

// Collection names what an informer watches: a kind, perhaps in one namespace, and
// perhaps only objects that selectors pick.
type Collection struct {
	Resource      schema.GroupVersionResource
	Namespace     string
	LabelSelector string
	FieldSelector string
}

// String is for errors.
func (c Collection) String() string {
	text := c.Resource.GroupResource().String()
	if c.Namespace != "" {
		text += " in namespace " + c.Namespace
	}
	if picked := strings.Trim(c.LabelSelector+" "+c.FieldSelector, " "); picked != "" {
		text += " with " + picked
	}
	return text
}

// Factory shares informers: who asks for the same collection gets the same one.
//
// client-go's factories are generated for a set of kinds, and share by Go type:
// a namespace or a selector is a property of the whole factory.
type Factory struct {
	config  *rest.Config
	options FactoryOptions
	joined  chan struct{} // sent to by InformerFor, received by Run; one, because Run looks at all

	mu      sync.Mutex             // guards what follows
	members map[Collection]*member // also those that are ending, until Stop has told of it
	ran     bool                   // Run was called
	ended   bool                   // Run takes in no more members
}

// FactoryOptions may be left empty.
type FactoryOptions struct {
	// DropManagedFields makes objects smaller before they are stored.
	DropManagedFields bool
	Reflector         ReflectorOptions
	Recorder          *trace.Recorder
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

// runner is what a factory needs of an informer, whatever it holds.
type runner interface {
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
}

// NewFactory returns a factory without informers.
func NewFactory(config *rest.Config, options FactoryOptions) *Factory {
	return &Factory{config: config, options: options, joined: make(chan struct{}, 1), members: map[Collection]*member{}}
}

// InformerFor returns the informer of a collection, and makes it if there is none, or
// only one that was stopped or gave up. It is started by Run, also if Run is under
// way; afterwards InformerFor returns an error. It is a function because Go has no
// generic methods.
func InformerFor[T Object](f *Factory, of Collection) (*Informer[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return nil, fmt.Errorf("sharing an informer of %s: %w", of, errFactoryStopped)
	}
	if m := f.members[of]; m != nil && !m.isEnding() {
		shared, ok := m.informer.(*Informer[T])
		if !ok {
			return nil, fmt.Errorf("sharing an informer of %s: there is one of another Go type, %T", of, m.informer)
		}
		return shared, nil
	}
	from, err := NewListWatch[T](f.config, of.Resource, ListWatchOptions{
		Namespace: of.Namespace, LabelSelector: of.LabelSelector, FieldSelector: of.FieldSelector, Recorder: f.options.Recorder,
	})
	if err != nil {
		return nil, err
	}
	options := InformerOptions[T]{Reflector: f.options.Reflector, Recorder: f.options.Recorder}
	if f.options.DropManagedFields {
		options.Transform = DropManagedFields[T]
	}
	informer := NewInformer(from, options)
	m := &member{informer: informer, stop: make(chan struct{}), done: make(chan struct{})}
	m.stopOnce = sync.OnceFunc(func() { close(m.stop) })
	f.members[of] = m
	select {
	case f.joined <- struct{}{}:
	default:
	}
	return informer, nil
}

// Run runs all informers, those that are asked for later as well, until the
// context ends. It returns when all of them have stopped, and so waits for calls of
// their handlers. The error names the informers that gave up, except those that were
// stopped or replaced since. It may be called once.
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

// start starts the members that have come, and tells whether others may come. If the
// context has ended, it starts them all the same: they end at once, and tell so those
// who wait for them.
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

// WaitForSync waits until all informers that there are have their first list. The
// error names those that have not, and says why.
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
	return slices.SortedFunc(maps.Keys(members), func(a, b Collection) int { return cmp.Compare(a.String(), b.String()) })
}

// Stop stops the informer of a collection and waits for its end, and so for calls of
// its handlers; others go on. If its context ends before, Stop may be called again.
// The next InformerFor makes a new one. The error is that of the informer, if it gave
// up.
func (f *Factory) Stop(ctx context.Context, of Collection) error {
	f.mu.Lock()
	m := f.members[of]
	if m == nil {
		f.mu.Unlock()
		return nil
	}
	m.stopOnce()
	if !m.started {
		delete(f.members, of)
		f.mu.Unlock()
		m.runEnded()
		return nil
	}
	f.mu.Unlock()
	select {
	case <-m.done:
	default:
		select {
		case <-m.done:
		case <-ctx.Done():
			return fmt.Errorf("stopping the informer of %s: %w", of, context.Cause(ctx))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members[of] == m {
		delete(f.members, of)
	}
	return m.failure
}

// runEnded runs an informer that was never started, just to end it: its handlers are
// done then, and who waits for it is told.
func (m *member) runEnded() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.run(ctx)
}

// isEnding tells whether the informer was stopped, or has ended by itself.
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
