// Bug: a terminal error that was joined with another error is retried.
package controller

import (
	"errors"
	"reflect"

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
	case isTerminal(err):
		d.label, d.again, d.forget, d.terminal = labelError, onlyWhenAdded, true, true
	case waits:
		d.label, d.again, d.forget, d.awaited = labelWaiting, whenWoken, true, awaited
	default:
		d.label, d.again = labelError, rateLimited
	}
	d.ignored = err != nil && (result.Requeue || result.RequeueAfter > 0)
	return d
}

func isTerminal(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if reflect.TypeOf(err) == reflect.TypeOf(reconcile.TerminalError(nil)) {
			return true
		}
	}
	return false
}
