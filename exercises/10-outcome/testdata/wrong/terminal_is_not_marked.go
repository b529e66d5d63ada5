// Bug: a terminal error is not marked as one.
package controller

import (
	"errors"

	"github.com/loopwright/loopwright/manager/reconcile"
)

func outcome(result reconcile.Result, err error) decision {
	d := decision{priority: result.Priority}
	if err != nil {
		d.ignored = result.Requeue || result.RequeueAfter > 0
	}
	awaited, waits := reconcile.WaitsFor(err)
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)):
		d.label, d.again, d.forget = labelError, onlyWhenAdded, true
	case waits:
		d.label, d.again, d.forget, d.awaited = labelWaiting, whenWoken, true, awaited
	case err != nil:
		d.label, d.again = labelError, rateLimited
	case result.RequeueAfter > 0:
		d.label, d.again, d.forget, d.after = labelRequeueAfter, afterDelay, true, result.RequeueAfter
	case result.Requeue:
		d.label, d.again = labelRequeue, rateLimited
	default:
		d.label, d.again, d.forget = labelSuccess, onlyWhenAdded, true
	}
	return d
}
