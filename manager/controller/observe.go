package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager/internal/requestname"
	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// The metrics of all controllers. All but the last are controller-runtime's.
var (
	reconcileTotal = counterVec("controller_runtime_reconcile_total",
		"Reconciles, by their result: success, requeue, requeue_after, error; or waiting, for "+
			"another object.", "controller", "result")
	reconcileErrors = counterVec("controller_runtime_reconcile_errors_total",
		"Reconciles that returned an error, or panicked.", "controller")
	terminalErrors = counterVec("controller_runtime_terminal_reconcile_errors_total",
		"Reconciles that returned an error that is not retried because it says so itself.", "controller")
	reconcilePanics = counterVec("controller_runtime_reconcile_panics_total",
		"Reconciles that panicked.", "controller")
	reconcileTimeouts = counterVec("controller_runtime_reconcile_timeouts_total",
		"Reconciles that were not finished when ReconciliationTimeout was over.", "controller")
	maxConcurrent = gaugeVec("controller_runtime_max_concurrent_reconciles",
		"Workers of a controller that runs.", "controller")
	activeWorkers = gaugeVec("controller_runtime_active_workers",
		"Workers that reconcile at this moment.", "controller")
	reconcileTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "controller_runtime_reconcile_time_seconds",
		Help: "Seconds that a call of the reconciler took.",
		Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45,
			0.5, 0.6, 0.7, 0.8, 0.9, 1,
			1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"controller"})
	givenUp = counterVec("loopwright_reconcile_given_up_total",
		"Requests that failed and were not retried because they had been retried MaxRetries times.", "controller")
)

func init() {
	ownmetrics.Register(metrics.Registry, reconcileTotal, reconcileErrors, terminalErrors,
		reconcilePanics, reconcileTimeouts, maxConcurrent, activeWorkers, reconcileTime, givenUp)
}

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// meter has the metrics of one controller. They're looked up by name once, not for each reconcile.
type meter struct {
	// by label; not changed
	results                                     map[string]prometheus.Counter
	errors, terminal, panics, timeouts, givenUp prometheus.Counter
	workers, active                             prometheus.Gauge
	time                                        prometheus.Observer
}

// newMeter makes all of them appear with the value 0, because an alert on a rate would otherwise
// miss the first error.
func newMeter(controller string) meter {
	m := meter{
		results:  map[string]prometheus.Counter{},
		errors:   reconcileErrors.WithLabelValues(controller),
		terminal: terminalErrors.WithLabelValues(controller),
		panics:   reconcilePanics.WithLabelValues(controller),
		timeouts: reconcileTimeouts.WithLabelValues(controller),
		givenUp:  givenUp.WithLabelValues(controller),
		workers:  maxConcurrent.WithLabelValues(controller),
		active:   activeWorkers.WithLabelValues(controller),
		time:     reconcileTime.WithLabelValues(controller),
	}
	for _, label := range []string{labelSuccess, labelRequeueAfter, labelRequeue, labelError,
		labelWaiting} {
		m.results[label] = reconcileTotal.WithLabelValues(controller, label)
	}
	return m
}

func (m meter) start(workers int) { m.workers.Add(float64(workers)) }
func (m meter) stop(workers int)  { m.workers.Sub(float64(workers)) }

// count counts what happened to one request.
func (m meter) count(d decision) {
	m.results[d.label].Inc()
	if d.label == labelError {
		m.errors.Inc()
	}
	if d.terminal {
		m.terminal.Inc()
	}
	if d.gaveUp {
		m.givenUp.Inc()
	}
}

// The controller's name is the layer of its events. The queue's events have the same layer:
// together they tell the story of a request.

func (c *controlLoop[request]) record(event trace.Event) {
	if c.options.Recorder.On() {
		event.Layer, event.Object = c.name, c.options.Kind
		c.options.Recorder.Record(event)
	}
}

func (c *controlLoop[request]) recordStart(w workqueue.Work[request]) {
	if c.options.Recorder.On() {
		namespace, name := requestname.Of(&w.Item)
		c.record(trace.Event{
			Kind: trace.ReconcileStart, Namespace: namespace, Name: name,
			Reason: strings.Join(w.Causes.Reasons(), ", "), Count: w.Causes.Count,
		})
	}
}

func (c *controlLoop[request]) recordEnd(
	w workqueue.Work[request], d decision, err error, took time.Duration,
) {
	if !c.options.Recorder.On() {
		return
	}
	namespace, name := requestname.Of(&w.Item)
	event := trace.Event{
		Kind: trace.ReconcileEnd, Outcome: traceOutcome(d),
		Namespace: namespace, Name: name, Took: took,
	}
	switch {
	case d.again == whenWoken:
		event.Reason = d.awaited.String()
	case d.again == afterDelay:
		event.Reason = "after " + d.after.String()
	case err != nil:
		event.Reason = fmt.Sprint(err) // it may be a nil pointer
	}
	c.record(event)
}

// traceOutcome translates a decision into the recorder's words.
func traceOutcome(d decision) trace.Outcome {
	switch {
	case d.gaveUp || d.terminal:
		return trace.GivenUp
	case d.label == labelError:
		return trace.Failed
	case d.again == whenWoken:
		return trace.Waiting
	case d.again != onlyWhenAdded:
		return trace.Requeued
	default:
		return trace.Succeeded
	}
}

// logOutcome logs failures as errors, and everything else at a higher verbosity.
func (c *controlLoop[request]) logOutcome(
	ctx context.Context, w workqueue.Work[request], d decision, err error,
) {
	if err == nil && !c.log().V(5).Enabled() {
		return
	}
	log := logr.FromContextOrDiscard(ctx)
	if d.ignored {
		log.Info("The reconciler returned an error and asked to be called again; the latter is " +
			"ignored")
	}
	switch {
	case err != nil && context.Cause(ctx) == errGraceOver: // the stop failed it
		log.Info("Cut off", "error", fmt.Sprint(err))
	case d.gaveUp:
		log.Error(err, "Reconciler error; giving up until the next event", "reasons",
			w.Causes.String())
	case d.label == labelError:
		if panicked, ok := errors.AsType[*panicError](err); ok {
			log = log.WithValues("stack", string(panicked.stack))
		}
		log.Error(err, "Reconciler error", "reasons", w.Causes.String())
	case d.label == labelWaiting:
		log.V(1).Info("Waiting for another object", "awaited", d.awaited.String())
	default:
		log.V(5).Info("Reconciled", "result", d.label, "after", d.after)
	}
}
