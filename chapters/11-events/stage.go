package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/trace"
)

const controllerName = "sellers"

// stage sets the controller up and plays the users. It waits for the controller by reading the
// flight recorder.
type stage struct {
	*demo.Demo
	market     *informers
	watches    *watches
	visits     chan event.GenericEvent // from the story to the source; without a buffer
	controller controller.Controller
	dynamic    dynamic.Interface

	events *trace.Cursor // of the recorder
	ahead  []trace.Event // read, and not looked at yet
	counts counts

	logged  chan string // what the controller complains about; capacity for more than there can be
	stop    context.CancelFunc
	stopped chan error // the result of Start; capacity one, so that its goroutine ends even if nobody receives it
}

func newStage(d *demo.Demo) (s *stage, err error) {
	s = &stage{Demo: d, visits: make(chan event.GenericEvent), events: d.Recorder.Cursor(), counts: counts{}, stopped: make(chan error, 1), logged: make(chan string, 100)}
	s.dynamic, err = dynamic.NewForConfig(d.Config())
	return s, err
}

// start starts the informers, and the controller.
func (s *stage) start(ctx context.Context) (err error) {
	ctx, s.stop = context.WithCancel(ctx)
	s.stopped <- nil // unless there is a Start to wait for
	if s.market, err = newInformers(ctx, s.Config(), s.Namespace, s.Recorder); err != nil {
		return err
	}
	if s.watches, err = newWatches(s.market, s.visits); err != nil {
		return err
	}
	s.controller, err = controller.NewUnmanaged(controllerName, controller.Options{
		Reconciler: &reconciler{market: s.market, client: s.Client, recorder: s.Recorder, image: s.Image},
		Recorder:   s.Recorder,
		Kind:       "ConfigMap",
		Logger:     logr.FromSlogHandler(complaints{s.logged}),
	})
	if err != nil {
		return err
	}
	for _, watched := range s.watches.all() {
		if err := s.controller.Watch(watched); err != nil {
			return err
		}
	}
	<-s.stopped
	go func() { s.stopped <- s.controller.Start(ctx) }()
	return nil
}

// end waits for all that was started, and removes what is not in the demo's namespace.
func (s *stage) end() error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	err := <-s.stopped
	if s.market != nil {
		s.market.running.Wait()
		err = errors.Join(err, s.uninstall())
	}
	return err
}

// find waits for an event.
func (s *stage) find(ctx context.Context, what string, wanted func(trace.Event) bool) error {
	for {
		for len(s.ahead) > 0 {
			event := s.ahead[0]
			s.ahead = s.ahead[1:]
			s.counts.add(event)
			if wanted(event) {
				return nil
			}
		}
		if s.ahead, _ = s.events.Read(); len(s.ahead) > 0 {
			continue
		}
		if err := s.events.Wait(ctx); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}

// happened waits until something has happened to an object, or to the controller if name is empty.
func (s *stage) happened(ctx context.Context, name string, kind trace.Kind) error {
	return s.find(ctx, fmt.Sprintf("%s of the %s", kind, name), func(e trace.Event) bool {
		return e.Kind == kind && e.Name == name
	})
}

// reconciled waits until a worker is done with each of these stalls, in this order.
func (s *stage) reconciled(ctx context.Context, stalls ...string) error {
	for _, stall := range stalls {
		if err := errors.Join(s.happened(ctx, stall, trace.ReconcileEnd), s.happened(ctx, stall, trace.Done)); err != nil {
			return err
		}
	}
	return nil
}

// reconciledAll is the same in any order.
func (s *stage) reconciledAll(ctx context.Context, stalls ...string) error {
	left := map[string]bool{}
	for _, stall := range stalls {
		left[stall] = true
	}
	return s.find(ctx, fmt.Sprintf("the end of %d reconciles", len(stalls)), func(e trace.Event) bool {
		if e.Kind == trace.Done {
			delete(left, e.Name)
		}
		return len(left) == 0
	})
}

// open makes stalls.
func (s *stage) open(ctx context.Context, stalls ...string) error {
	for _, stall := range stalls {
		err := s.Create(ctx, types.NamespacedName{Namespace: s.Namespace, Name: stall}, map[string]string{"story": "stall"})
		if err != nil {
			return err
		}
	}
	return nil
}

// closeStall takes the label off the ConfigMap. It is no stall after that.
func (s *stage) closeStall(ctx context.Context, stall string) error {
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Patch(ctx, stall, types.MergePatchType, []byte(`{"metadata":{"labels":{"story":null}}}`), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("closing the stall %s: %w", stall, err)
	}
	return nil
}

// beat writes a heartbeat into a seller's status, and returns the resourceVersion.
func (s *stage) beat(ctx context.Context, seller string, number int) (version string, err error) {
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"loopwright.dev/Heartbeat","status":"True","message":"%d"}]}}`, number)
	pod, err := s.Client.CoreV1().Pods(s.Namespace).Patch(ctx, seller, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		return "", fmt.Errorf("a heartbeat of the Pod %s: %w", seller, err)
	}
	return pod.ResourceVersion, nil
}

// give makes a stall the owner of a seller, in the place of another one.
func (s *stage) give(ctx context.Context, seller, stall string) error {
	owner, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Get(ctx, stall, metav1.GetOptions{})
	if err == nil {
		patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q}]}}`, stall, owner.UID)
		_, err = s.Client.CoreV1().Pods(s.Namespace).Patch(ctx, seller, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("giving %s to the %s: %w", seller, stall, err)
	}
	return nil
}

// visit reports something that did not happen in the cluster.
func (s *stage) visit(ctx context.Context, stall string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: stall}}
	select {
	case s.visits <- event.GenericEvent{Object: object}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// complaint waits for the controller to log an error.
func (s *stage) complaint(ctx context.Context) (string, error) {
	select {
	case text := <-s.logged:
		return text, nil
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for an error in the log: %w", context.Cause(ctx))
	}
}

// complaints keeps the errors of a log. All else is in the timeline.
type complaints struct{ to chan<- string }

func (c complaints) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (c complaints) Handle(_ context.Context, record slog.Record) error {
	text := record.Message
	record.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "err" {
			text += ": " + attr.Value.String()
		}
		return true
	})
	select {
	case c.to <- text:
	default:
	}
	return nil
}

func (c complaints) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c complaints) WithGroup(string) slog.Handler      { return c }
