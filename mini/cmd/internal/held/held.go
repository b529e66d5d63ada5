// Package held lets the buttons of X-ray hold the workers of mini's controllers.
package held

import (
	"context"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/xray"
)

// Reconciler waits before each reconcile while the workers are held.
func Reconciler(steps *xray.Steps, r mini.Reconciler) mini.Reconciler {
	steps.HasWorkers()
	return mini.ReconcilerFunc(
		func(ctx context.Context, req mini.Request) (mini.Result, error) {
			if err := steps.Wait(ctx); err != nil {
				return mini.Result{}, err
			}
			return r.Reconcile(ctx, req)
		})
}
