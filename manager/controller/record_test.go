package controller

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// "Why was this object reconciled, and what came of it?" The recorder must answer for every kind
// of answer.
func TestTheRecorderTellsTheStoryOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		c, queue := start(t, Options{
			Recorder: recorder, Kind: "Deployment", MaxRetries: 1, WaitFallback: -1,
			Reconciler: new(calls).answering(
				returns{Err: errBroken},
				returns{Err: errBroken},
				returns{Err: errWaiting},
				returns{Err: errWaiting},
				returns{Result: reconcile.Result{RequeueAfter: time.Minute}},
				returns{Err: errPermanent},
				returns{},
			),
		})
		queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(workqueue.AddOpts{Reason: "Pod deleted"}, req("web"))
		time.Sleep(time.Second)
		queue.Add(req("web"))
		time.Sleep(time.Second)
		c.Wake(secret)
		time.Sleep(time.Hour)
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.NoError(t, c.end())

		var story []string
		for _, e := range recorder.Events() {
			if e.Kind == trace.Start || e.Kind == trace.Stop {
				continue
			}
			require.Equal(t, t.Name(), e.Layer, "the queue and the controller tell one story")
			require.Equal(t, "Deployment shop/web", e.Object+" "+e.Namespace+"/"+e.Name)
			if e.Kind == trace.ReconcileStart || e.Kind == trace.ReconcileEnd {
				story = append(story, strings.Join(strings.Fields(e.Kind.String()+": "+e.Outcome.String()+" "+e.Reason), " "))
			}
		}
		require.Equal(t, []string{
			"reconcile start: Pod deleted",
			"reconcile end: failed broken",
			"reconcile start: tried again",
			"reconcile end: given up broken",
			"reconcile start:",
			"reconcile end: waiting Secret shop/password",
			"reconcile start: in case what it waits for has just come",
			"reconcile end: waiting Secret shop/password",
			"reconcile start: Secret shop/password changed, for which it waited",
			"reconcile end: requeued after 1m0s",
			"reconcile start: asked to be called again",
			"reconcile end: given up terminal error: broken",
			"reconcile start:",
			"reconcile end: succeeded",
		}, story)
	})
}

func TestTheRecorderNotesStartAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		c, _ := start(t, Options{Recorder: recorder, Reconciler: new(calls).answering()})
		require.NoError(t, c.end())
		var story []string
		for _, e := range recorder.Events() {
			story = append(story, e.Kind.String()+" "+e.Reason)
		}
		require.Equal(t, []string{"start ", "stop the queue is shut down", "stop context canceled"}, story)
	})
}

// A request that is taken out of the queue to be dropped looks like one that a worker takes.
func TestTheRecorderNotesWhatIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		c, queue := start(t, Options{Recorder: recorder, Reconciler: &slow{takes: time.Second}})
		add(queue, "a", "b", "c")
		synctest.Wait()
		require.NoError(t, c.end())
		var story []string
		for _, e := range recorder.Events() {
			if len(story) > 0 || e.Kind == trace.Stop && e.Reason == "context canceled" {
				story = append(story, strings.TrimSpace(e.Kind.String()+" "+e.Name+" "+e.Reason))
			}
		}
		require.Equal(t, []string{
			"stop  context canceled", "note  what waits is taken out and dropped: 2",
			"dequeue b", "done b", "dequeue c", "done c",
		}, story)
	})
}

func TestTheRecorderNotesEvenOneThatIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		c, queue := start(t, Options{Recorder: recorder, Reconciler: &slow{takes: time.Second}, GracePeriod: time.Minute})
		add(queue, "a", "b")
		synctest.Wait()
		require.NoError(t, c.end())
		notes := trace.Filter{Kinds: []trace.Kind{trace.Note}}.Select(recorder.Events())
		require.Len(t, notes, 1)
		require.Equal(t, "what waits is taken out and dropped: 1", notes[0].Reason)
	})
}

func TestTheRecorderNotesHowLongAReconcileTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		c, queue := start(t, Options{Recorder: recorder, Reconciler: &slow{takes: 9 * time.Second}})
		queue.Add(req("web"))
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		took := trace.Filter{Kinds: []trace.Kind{trace.ReconcileEnd}}.Select(recorder.Events())
		require.Len(t, took, 1)
		require.Equal(t, 9*time.Second, took[0].Took)
	})
}
