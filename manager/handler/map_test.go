package handler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// byName asks for the object that has the same name elsewhere.
func byName(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{req("elsewhere", obj.GetName())}
}

func TestTheFunctionSaysWhomAnEventConcerns(t *testing.T) {
	for _, c := range []struct {
		event happening
		want  []string
	}{
		{create(pod("a", "1"), false), []string{"elsewhere/a at 0: create of Pod shop/a, through a map function"}},
		{create(pod("a", "1"), true), []string{"elsewhere/a at -100: first listing of Pod shop/a, through a map function"}},
		{update(pod("a", "1"), pod("a", "2")), []string{"elsewhere/a at 0: update of Pod shop/a, through a map function"}},
		{update(pod("a", "1"), pod("a", "1")), []string{"elsewhere/a at -100: resync of Pod shop/a, through a map function"}},
		{update(pod("a", "1"), pod("b", "2")), []string{
			"elsewhere/a at 0: update of Pod shop/b, through a map function",
			"elsewhere/b at 0: update of Pod shop/b, through a map function",
		}},
		{remove(pod("a", "1"), false), []string{"elsewhere/a at 0: delete of Pod shop/a, through a map function"}},
		{generic(pod("a", "1")), []string{"elsewhere/a at 0: generic event of Pod shop/a, through a map function"}},
		// controller-runtime calls the function with nil here, and most functions panic.
		{update(nil, pod("a", "1")), []string{"elsewhere/a at 0: update of Pod shop/a, through a map function"}},
		{create(nil, true), []string{}},
		{remove(nobody, false), []string{}},
	} {
		q := newQueue()
		c.event.tell(handler.EnqueueRequestsFromMapFunc(byName), q)
		require.Equal(t, c.want, added(t, q), c.event.name)
	}
}

// Each add is counted as a cause, and a function that lists objects may return one many times.
func TestARequestIsAddedOnceForAnEvent(t *testing.T) {
	for _, n := range []int{0, 1, 3, 8, 9, 100} {
		var answer, want []reconcile.Request
		for i := range n {
			answer = append(answer, req("shop", fmt.Sprint(i%3)), req("shop", fmt.Sprint(i)))
			for _, name := range []string{fmt.Sprint(i % 3), fmt.Sprint(i)} {
				if !slices.Contains(want, req("shop", name)) {
					want = append(want, req("shop", name))
				}
			}
		}
		kept, q := slices.Clone(answer), newQueue()
		h := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return answer })
		update(pod("a", "1"), pod("a", "2")).tell(h, q)
		var got []reconcile.Request
		for q.Len() > 0 {
			work, err := q.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, work.Causes.Count)
			got = append(got, work.Item)
		}
		require.Equal(t, want, got, "%d", n)
		require.Equal(t, kept, answer, "the slice is the function's: it may return the same one each time")
	}
}

// A function that remembers what it has seen must see the newest state last.
func TestTheFunctionIsAskedAboutTheOlderStateFirst(t *testing.T) {
	var asked []string
	h := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		asked = append(asked, obj.GetResourceVersion())
		return nil
	})
	q := newQueue()
	update(pod("a", "1"), pod("a", "2")).tell(h, q)
	require.Equal(t, []string{"1", "2"}, asked)
	require.Zero(t, q.Len())
}

// The function may be a method that reads the cache with the context.
func TestTheFunctionGetsTheContext(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "ours")
	h := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		require.Equal(t, "ours", ctx.Value(key{}))
		return nil
	})
	h.Create(ctx, createOf(pod("a", "1")), newQueue())
}
