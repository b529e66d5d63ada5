package controller

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// callContext returns what a reconciler gets as its context: that of the workers, and in it an ID
// and a logger for this call. request is nil for a batch; its requests have the ID of the batch.
func (c *controlLoop) callContext(ctx context.Context, request *reconcile.Request) context.Context {
	id := ReconcileIDFromContext(ctx)
	if id == "" {
		id = uuid.NewUUID()
		ctx = context.WithValue(ctx, reconcileIDKey{}, id)
	}
	return logr.NewContext(ctx, c.logFor(request).WithValues("reconcileID", id))
}

// logFor returns the logger for a request. If LogConstructor panics, which in controller-runtime
// ends the process, it is the controller's.
func (c *controlLoop) logFor(request *reconcile.Request) (log logr.Logger) {
	defer func() {
		if value := recover(); value != nil {
			log = c.log()
			log.Error(fmt.Errorf("panic: %v", value), "LogConstructor panicked", "request", request)
		}
	}()
	return c.options.LogConstructor(request)
}

// reconcileIDKey is what ReconcileIDFromContext asks a context for.
type reconcileIDKey struct{}

// ReconcileIDFromContext returns the ID of the call of the reconciler to which the context
// belongs. It is in each line of the logger that the reconciler finds in its context. Without
// one, it is empty.
func ReconcileIDFromContext(ctx context.Context) types.UID {
	id, _ := ctx.Value(reconcileIDKey{}).(types.UID)
	return id
}
