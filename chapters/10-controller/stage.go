package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

const (
	maxRetries  = 3
	limit       = 4 * time.Second
	gracePeriod = time.Second
)

// stage plays the users of the demo. It waits for the controller by reading the flight recorder.
type stage struct {
	*demo.Demo
	cloud  *cloud
	events *trace.Cursor // of the controller's recorder
	ahead  []trace.Event // read, and not looked at yet

	stop    context.CancelFunc // nil if no controller runs
	stopped chan error         // the result of Start; capacity one, so that its goroutine ends even if nobody receives it
}

// startController makes the controller. Orders are ConfigMaps with a label.
func (s *stage) startController(ctx context.Context, name string, recorder *trace.Recorder) error {
	orders, err := informer.NewListWatch[*corev1.ConfigMap](s.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{Namespace: s.Namespace, LabelSelector: "story=database"})
	if err != nil {
		return err
	}
	secrets, err := informer.NewListWatch[*corev1.Secret](s.Config(), corev1.SchemeGroupVersion.WithResource("secrets"),
		informer.ListWatchOptions{Namespace: s.Namespace})
	if err != nil {
		return err
	}
	ofOrders := &source[*corev1.ConfigMap]{informer: informer.NewInformer(orders, informer.InformerOptions[*corev1.ConfigMap]{}), tell: enqueue[*corev1.ConfigMap]}
	ofSecrets := &source[*corev1.Secret]{informer: informer.NewInformer(secrets, informer.InformerOptions[*corev1.Secret]{}), tell: wake[*corev1.Secret]("Secret")}
	// region options
	databases, err := controller.NewUnmanaged(name, controller.Options{
		Reconciler:              &reconciler{orders: ofOrders.informer.Store(), secrets: ofSecrets.informer.Store(), client: s.Client, cloud: s.cloud, recorder: recorder},
		MaxConcurrentReconciles: 2,
		RateLimiter:             &workqueue.Exponential[reconcile.Request]{Base: 20 * time.Millisecond},
		MaxRetries:              maxRetries,
		ReconciliationTimeout:   limit,
		GracePeriod:             gracePeriod,
		Recorder:                recorder,
		Kind:                    "ConfigMap",
		Logger:                  logr.FromSlogHandler(slog.DiscardHandler), // the timeline shows it all
	})
	// endregion options
	if err != nil {
		return err
	}
	for _, source := range []controller.Source{ofOrders, ofSecrets} {
		if err := databases.Watch(source); err != nil {
			return err
		}
	}
	s.events, s.ahead = recorder.Cursor(), nil
	ctx, s.stop = context.WithCancel(ctx)
	s.stopped = make(chan error, 1)
	go func() { s.stopped <- databases.Start(ctx) }()
	return s.happened(ctx, "", trace.Start)
}

// stopController waits for the end. It may be called again.
func (s *stage) stopController() error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	s.stop = nil
	return <-s.stopped
}

// find waits for an event.
func (s *stage) find(ctx context.Context, what string, wanted func(trace.Event) bool) error {
	for {
		for i, event := range s.ahead {
			if wanted(event) {
				s.ahead = s.ahead[i+1:]
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

// happened waits until something has happened to an order.
func (s *stage) happened(ctx context.Context, name string, kind trace.Kind) error {
	return s.find(ctx, fmt.Sprintf("%s of the %s", kind, name), func(e trace.Event) bool { return e.Kind == kind && e.Name == name })
}

// finished waits until a worker is done with an order, and until it is one with this outcome.
func (s *stage) finished(ctx context.Context, name string, outcome trace.Outcome) error {
	err := s.find(ctx, fmt.Sprintf("the %s, %s", name, outcome), func(e trace.Event) bool {
		return e.Kind == trace.ReconcileEnd && e.Name == name && e.Outcome == outcome
	})
	if err != nil {
		return err
	}
	return s.happened(ctx, name, trace.Done)
}

// order makes an order of size 1, or one that says something else.
func (s *stage) order(ctx context.Context, name string, says map[string]string) error {
	data := map[string]string{"size": "1"}
	for field, value := range says {
		data[field] = value
	}
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"story": "database"}}, Data: data,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ordering the %s: %w", name, err)
	}
	return nil
}

// correct changes what an order says.
func (s *stage) correct(ctx context.Context, name, field, value string) error {
	_, err := s.Change(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}, field, value)
	return err
}

func (s *stage) makeSecret(ctx context.Context, name string) error {
	_, err := s.Client.CoreV1().Secrets(s.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": "not secret"},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making the Secret %s: %w", name, err)
	}
	return nil
}

// services counts the databases that can be reached. It asks the API server.
func (s *stage) services(ctx context.Context) (int, error) {
	list, err := s.Client.CoreV1().Services(s.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("looking at the Services: %w", err)
	}
	return len(list.Items), nil
}

// counter is one value of a metric.
type counter struct {
	metric, result string
	value          int
}

// measured returns what the metrics count for a controller.
func measured(controller string) (counters []counter, err error) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}
	for _, family := range families { // sorted by name
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["controller"] == controller && metric.GetCounter() != nil && strings.Contains(family.GetName(), "reconcile") {
				counters = append(counters, counter{family.GetName(), labels["result"], int(metric.GetCounter().GetValue())})
			}
		}
	}
	return counters, nil
}
