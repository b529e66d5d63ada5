// Bug: an error drops the priority of the answer.
package controller

import (
	"errors"

	"github.com/loopwright/loopwright/manager/reconcile"
)

func outcome(result reconcile.Result, err error) decision {
	d := decision{priority: result.Priority}
	awaited, waits := reconcile.WaitsFor(err)
	switch {
	case err == nil && result.RequeueAfter > 0:
		d.label, d.again, d.forget, d.after = labelRequeueAfter, afterDelay, true, result.RequeueAfter
	case err == nil && result.Requeue:
		d.label, d.again = labelRequeue, rateLimited
	case err == nil:
		d.label, d.again, d.forget = labelSuccess, onlyWhenAdded, true
	case errors.Is(err, reconcile.TerminalError(nil)):
		d.label, d.again, d.forget, d.terminal = labelError, onlyWhenAdded, true, true
	case waits:
		d.label, d.again, d.forget, d.awaited = labelWaiting, whenWoken, true, awaited
	default:
		d.label, d.again = labelError, rateLimited
		d.priority = nil
	}
	d.ignored = err != nil && (result.Requeue || result.RequeueAfter > 0)
	return d
}
