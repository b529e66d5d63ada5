package controller

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// callContext is what a reconciler gets as its context: that of the workers, and in it an ID and
// a logger for this call. They are made when somebody asks for them. Most calls find that there
// is nothing to do, and log nothing; to make both beforehand would take longer than all the rest
// of the work of a controller.
//
// It is no context that is stored: like those of the context package, it is one that wraps
// another.
type callContext struct {
	context.Context
	controller *controlLoop
	request    *reconcile.Request // nil for several

	newID, newLogger sync.Once
	id               types.UID
	logger           context.Context // Context with the logger, as logr puts it there
}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	switch key {
	case reconcileIDKey{}:
		return c.reconcileID()
	case loggerKey:
		c.newLogger.Do(func() {
			defer func() {
				if c.logger == nil { // LogConstructor panics, and something has to log that
					c.logger = logr.NewContext(c.Context, c.controller.log().WithValues("reconcileID", c.reconcileID()))
				}
			}()
			c.logger = logr.NewContext(c.Context, c.controller.options.LogConstructor(c.request).WithValues("reconcileID", c.reconcileID()))
		})
		return c.logger.Value(key)
	default:
		return c.Context.Value(key)
	}
}

// reconcileID is that of the context around it, if that is a call as well: the requests of a
// batch have one.
func (c *callContext) reconcileID() types.UID {
	c.newID.Do(func() {
		if c.id = ReconcileIDFromContext(c.Context); c.id == "" {
			c.id = uuid.NewUUID()
		}
	})
	return c.id
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

// loggerKey is what logr asks a context for. It keeps this key to itself, but one can be asked.
var loggerKey = func() any {
	var asked askedFor
	_, _ = logr.FromContext(&asked)
	return asked.key
}()

// askedFor is a context that remembers for which value it was asked last.
type askedFor struct {
	context.Context
	key any
}

func (a *askedFor) Value(key any) any {
	a.key = key
	return nil
}
