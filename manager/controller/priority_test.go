package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Ten objects keep two workers busy for good: each reconcile takes 300 ms, writes the object, and
// wants to be called again after a second. The objects of the initial list, which have a low
// priority until something happens to them, have one turn in 33 meanwhile (see
// workqueue.PriorityOptions), so 36 of them take three minutes. That's slow, and it's on purpose:
// nothing may have changed about them. More workers help, or a longer RequeueAfter.
//
// In controller-runtime they have none at all: its queue always hands out the highest priority
// (sigs.k8s.io/controller-runtime v0.25.2, pkg/controller/priorityqueue/priorityqueue.go,
// lessReady), and a request keeps its priority with RequeueAfter (pkg/internal/controller/controller.go).
func TestTheInitialListHasOneTurnIn33WhileTheWorkersAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &calls{}
		r, queue := start(t, Options{MaxConcurrentReconciles: 2, Reconciler: reconcile.Func(
			func(_ context.Context, request reconcile.Request) (result reconcile.Result, err error) {
				made.add(request)
				time.Sleep(300 * time.Millisecond)
				if strings.HasPrefix(request.Name, "busy") {
					result.RequeueAfter = time.Second
				}
				return result, nil
			})})
		for i := range 10 {
			queue.Add(req(fmt.Sprint("busy ", i)))
		}
		time.Sleep(10 * time.Second)
		before := len(made.all())
		const initial = 36
		for i := range initial {
			queue.(*controllerQueue[reconcile.Request]).AddWithOpts(
				workqueue.AddOpts{Priority: new(handler.LowPriority)}, req(fmt.Sprint("initial ", i)))
		}
		for lows := 0; lows < initial; {
			time.Sleep(time.Second)
			lows = strings.Count(strings.Join(made.all(), ","), "initial")
			require.Less(t, len(made.all()), 100*initial, "they starve: %d had a turn", lows)
		}
		turns := 0
		for _, name := range made.all()[before:] {
			turns++
			if strings.HasPrefix(name, "initial") {
				require.InDelta(t, 33, turns, 1)
				turns = 0
			}
		}
		require.NoError(t, r.end())
	})
}
