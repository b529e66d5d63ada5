package trace

import "context"

// reconcile is the work on one request, on whose behalf something is done.
type reconcile struct{ layer, object, namespace, name string }

type reconcileKey struct{}

// WithReconcile returns a context for the reconcile of a request: layer is the controller's name,
// object the kind that it reconciles, or empty if it does not know. RecordBy finds them there.
func WithReconcile(ctx context.Context, layer, object, namespace, name string) context.Context {
	return context.WithValue(ctx, reconcileKey{}, reconcile{layer, object, namespace, name})
}

// RecordBy records what is done in a reconcile: Layer becomes the controller's name, and ToObject,
// ToNamespace and ToName become the request. Outside of a reconcile, it is Record.
func (r *Recorder) RecordBy(ctx context.Context, e Event) {
	if by, ok := ctx.Value(reconcileKey{}).(reconcile); ok {
		e.Layer, e.ToObject, e.ToNamespace, e.ToName = by.layer, by.object, by.namespace, by.name
	}
	r.Record(e)
}
