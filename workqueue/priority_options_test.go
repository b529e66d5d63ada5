package workqueue

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// turnOf returns how many items of a higher priority come before one of a lower.
func turnOf(q *PriorityQueue[int]) int {
	low := LowPriority
	q.AddWithOpts(AddOpts{Priority: &low}, -1)
	for i := range 100 {
		q.Add(i)
	}
	for turn := 0; ; turn++ {
		if item, _ := q.Get(); item == -1 {
			return turn
		}
	}
}

func TestThePatienceIs32UnlessItIsGiven(t *testing.T) {
	require.Equal(t, 32, turnOf(NewPriority(PriorityOptions[int]{})))
	require.Equal(t, 7, turnOf(NewPriority(PriorityOptions[int]{Patience: 7})))
	require.Equal(t, 1, turnOf(NewPriority(PriorityOptions[int]{Patience: 1})))
	require.Equal(t, 1, turnOf(NewPriority(PriorityOptions[int]{Patience: -5})), "less than one would let the low ones go first")
}

func TestTheLimiterIsExponentialUnlessItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewPriority(PriorityOptions[string]{})
		q.AddRateLimited("a")
		comesAfter(t, q, "a", 5*time.Millisecond)
		q.AddRateLimited("b")
		q.AddWithOpts(AddOpts{RateLimited: true, After: time.Nanosecond}, "b")
		comesAfter(t, q, "b", time.Nanosecond)
		for i := range 1000 {
			q.AddRateLimited(strconv.Itoa(i))
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1000, q.Len(), "no bucket is in the way of the items that failed once")
		q.ShutDown()
	})
}

// Somebody replaced a delay by now: the work has the priority of whichever asked for more.
func TestAnAlarmThatGoesOffEarlyKeepsItsPriority(t *testing.T) {
	for _, priority := range []int{5, -5} {
		q := NewPriority(PriorityOptions[string]{})
		q.AddWithOpts(AddOpts{After: time.Hour, Priority: &priority, Reason: "alarm"}, "a")
		q.ReplaceAfter("a", 0)
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, max(0, priority), work.Priority)
		require.Equal(t, 2, work.Causes.Count)
		require.Zero(t, q.Delayed())
		q.ShutDown()
	}
}

// An event in a storm must not pay for a text that nobody reads, and one that is read must say
// which object it is about.
func TestAReasonNamesItsObjectWhenItIsRead(t *testing.T) {
	for _, c := range []struct {
		opts AddOpts
		want string
	}{
		{AddOpts{Reason: "update of Pod *, through its owner", About: Subject{"shop", "web-1"}}, "update of Pod shop/web-1, through its owner"},
		{AddOpts{Reason: "* is late", About: Subject{Name: "n1"}}, "n1 is late"},
		{AddOpts{Reason: "* by *", About: Subject{Name: "n1"}}, "n1 by *"},
		{AddOpts{Reason: "4 * 5"}, "4 * 5"},
		{AddOpts{Reason: "no place for it", About: Subject{Name: "n1"}}, "no place for it"},
		{AddOpts{About: Subject{Name: "n1"}}, ""},
	} {
		q := NewPriority(PriorityOptions[string]{})
		q.AddWithOpts(c.opts, "a")
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.want, work.Causes.String())
		require.Equal(t, c.want, c.opts.ReasonText())
	}
}

// Ten changes of one Pod are one reason; those of two Pods are two.
func TestReasonsAboutDifferentObjectsAreDifferent(t *testing.T) {
	q := NewPriority(PriorityOptions[string]{})
	for _, name := range []string{"web-1", "web-2", "web-1", "web-3", "web-2"} {
		q.AddWithOpts(AddOpts{Reason: "Pod *", About: Subject{"shop", name}}, "a")
	}
	work, err := q.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Pod shop/web-1", "Pod shop/web-2", "Pod shop/web-3"}, work.Causes.Reasons())
	require.Equal(t, 5, work.Causes.Count)
}
