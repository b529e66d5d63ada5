//go:build figures

package queueing

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
	"github.com/loopwright/loopwright/workqueue"
)

// A reader who learns another queue than the one that is there has learnt nothing. So the same is done to the figure
// and to a whole queue, with its lock and its timer.
func TestTheQueueOfTheFigureIsTheQueue(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := Queue.Open()
		s.Do(figure.Action{Key: "restart"})
		real := workqueue.New(workqueue.Options[string]{})
		held := [workers]string{}
		for range 300 {
			q := s.Figure().(*queue)
			if i := random.IntN(workers); random.IntN(2) == 0 {
				key := figure.Action{Key: "worker " + strconv.Itoa(i+1)}
				switch {
				case held[i] != "":
					real.Done(held[i])
					held[i] = ""
				case real.Len() == 0:
					require.Empty(t, q.cores.Ready())
					continue
				default:
					held[i], _ = real.Get()
				}
				figuretest.Press(t, s, key)
				require.Equal(t, held, q.holds)
			} else {
				item := items[random.IntN(len(items))]
				real.Add(item)
				figuretest.Press(t, s, figure.Action{Key: "add " + item})
			}
			require.Len(t, q.cores.Ready(), real.Len())
		}
	}
}

func TestTheDelaysOfTheFigureAreThoseOfTheQueue(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			s := Delays.Open()
			s.Do(figure.Action{Key: "restart"})
			real := workqueue.NewDelaying(workqueue.Options[string]{})
			defer real.ShutDown()
			for range 300 {
				item, after := items[random.IntN(len(items))], random.IntN(6)
				s.Do(figure.Action{Key: "item", Value: item})
				s.Do(figure.Action{Key: "after", Value: strconv.Itoa(after)})
				delay := time.Duration(after) * time.Second
				switch random.IntN(5) {
				case 0:
					real.AddAfter(item, delay)
					s.Do(figure.Action{Key: "AddAfter"})
				case 1:
					real.ReplaceAfter(item, delay)
					s.Do(figure.Action{Key: "ReplaceAfter"})
				case 2:
					require.Equal(t, real.Cancel(item), s.Figure().(*delays).isPending(item))
					s.Do(figure.Action{Key: "Cancel"})
				case 3:
					time.Sleep(time.Second)
					synctest.Wait()
					figuretest.Press(t, s, figure.Action{Key: "second"})
				default:
					if real.Len() == 0 {
						continue
					}
					ready := s.Figure().(*delays).cores.Ready()
					got, _ := real.Get()
					real.Done(got)
					require.Equal(t, got, ready[0])
					figuretest.Press(t, s, figure.Action{Key: "work"})
				}
				d := s.Figure().(*delays)
				require.Len(t, d.cores.Ready(), real.Len())
				require.Len(t, d.cores.Alarms(), real.Delayed())
			}
		})
	}
}

func TestThePrioritiesOfTheFigureAreThoseOfTheQueue(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 3))
		patience, fair := 1+random.IntN(4), seed%2 == 0
		q := newPriority(patience, fair)
		options := workqueue.PriorityOptions[string]{Patience: patience}
		if fair {
			options.Group = func(item string) string { return item[:1] }
		}
		real := workqueue.NewPriority(options)
		add := func(item string, class int) { real.AddWithOpts(workqueue.AddOpts{Priority: &class}, item) }
		for range 400 {
			q.Do(figure.Action{Key: "group", Value: groups[random.IntN(len(groups))]})
			q.Do(figure.Action{Key: "priority", Value: strconv.Itoa(priorities[random.IntN(len(priorities))])})
			switch {
			case random.IntN(5) == 0 && len(q.waiting) > 0:
				add(q.waiting[len(q.waiting)-1].item, q.class)
				q.Do(figure.Action{Key: "raise"})
			case random.IntN(2) == 0 && len(q.waiting) < most:
				q.Do(figure.Action{Key: "one"})
				add(q.waiting[len(q.waiting)-1].item, q.class)
			case len(q.waiting) > 0:
				class, lane, _ := q.next()
				work, err := real.Next(context.Background())
				require.NoError(t, err)
				real.Done(work.Item)
				require.Equal(t, work.Item, lane.Items[0], "the figure announces the one that is served")
				require.Equal(t, work.Priority, class)
				q.Do(figure.Action{Key: "serve"})
				require.Equal(t, work.Item, q.served[len(q.served)-1])
			}
		}
	}
}
