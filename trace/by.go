package trace

import "context"

// reconcile is the work on one request, in which something else is done.
type reconcile struct{ layer, object, namespace, name string }

type reconcileKey struct{}

// WithReconcile returns a context for the reconcile of a request: layer is the controller's name,
// and object the kind that it reconciles, or empty if it doesn't know. RecordBy finds them there.
func WithReconcile(ctx context.Context, layer, object, namespace, name string) context.Context {
	return context.WithValue(ctx, reconcileKey{}, reconcile{layer, object, namespace, name})
}

// RecordBy records an event in a reconcile: Layer becomes the controller's name, and ToObject,
// ToNamespace and ToName become the request. Outside of a reconcile, it's Record.
func (r *Recorder) RecordBy(ctx context.Context, e Event) {
	if by, ok := ctx.Value(reconcileKey{}).(reconcile); ok {
		e.Layer, e.ToObject, e.ToNamespace, e.ToName = by.layer, by.object, by.namespace, by.name
	}
	r.Record(e)
}
