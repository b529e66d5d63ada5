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

	mu      sync.Mutex // guards what follows
	members map[Collection]*member
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

// runner is what a factory needs of an informer, whatever it holds.
type runner interface {
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
}

// NewFactory returns a factory without informers.
func NewFactory(config *rest.Config, options FactoryOptions) *Factory {
	return &Factory{config: config, options: options, joined: make(chan struct{}, 1), members: map[Collection]*member{}}
}

// InformerFor returns the informer of a collection, and makes it if there is none.
// It is started by Run, also if Run is under way. It is a function because Go has
// no generic methods.
func InformerFor[T Object](f *Factory, of Collection) (*Informer[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[of]; m != nil {
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
// context ends. It returns when all of them have stopped.
func (f *Factory) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		f.mu.Lock()
		for _, m := range f.members {
			if !m.started {
				m.started = true
				running.Go(func() { m.run(ctx) })
			}
		}
		f.mu.Unlock()
		select {
		case <-f.joined:
		case <-ctx.Done():
			return nil
		}
	}
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
	collections := slices.SortedFunc(maps.Keys(members), func(a, b Collection) int { return cmp.Compare(a.String(), b.String()) })
	var failures []error
	for _, of := range collections {
		if err := members[of].informer.WaitForSync(ctx); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", of, err))
		}
	}
	return errors.Join(failures...)
}

// Stop stops the informer of a collection and waits for its end; others go on. The
// next InformerFor makes a new one. Unless Run has started it, there is nothing to
// wait for. The error is that of the informer, if it gave up.
func (f *Factory) Stop(ctx context.Context, of Collection) error {
	f.mu.Lock()
	m := f.members[of]
	delete(f.members, of)
	started := m != nil && m.started
	f.mu.Unlock()
	if !started {
		return nil
	}
	m.stopOnce()
	select {
	case <-m.done:
		return m.failure
	case <-ctx.Done():
		return fmt.Errorf("stopping the informer of %s: %w", of, context.Cause(ctx))
	}
}
