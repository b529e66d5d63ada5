package informer

// MetricBacklog is how many notifications have not been delivered to a handler. It is
// the first number to look at when a controller seems to do nothing: a handler that
// hangs has a backlog that only grows. It is never zero then, because the call that it
// hangs in counts; see Registration.Backlog.
//
// client-go has no metric for it. Its informer_queued_items counts what is before
// the store, and says nothing about handlers.
const MetricBacklog = "informer_handler_backlog"

// MetricsProvider makes the metrics of informers, see InformerOptions.
type MetricsProvider interface {
	// Gauge is given the metric's name and labels, and the function that reads the
	// value: in constant time, from any goroutine. Handlers may share a name, or have
	// none; a provider that needs one value for them adds theirs up. forget is called
	// once, when the handler was removed or its informer has stopped.
	Gauge(metric, kind, handler string, read func() float64) (forget func())
}

// register makes the listener's metrics.
func (l *listener[T]) register(with MetricsProvider) {
	l.forget = with.Gauge(MetricBacklog, l.instruments.kind, l.options.Name, func() float64 {
		return float64(l.measure().Pending)
	})
}

// end says that the handler is not called any more.
func (l *listener[T]) end() {
	if l.forget != nil {
		l.forget()
	}
	close(l.done)
}
