package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// Work is what a Reconciler has to do for one object. A test lets each of the calls for it fail in
// turn, reads of the cache included.
type Work struct {
	For     client.ObjectKey
	Objects func() []client.Object          // that exist before
	Indexes func(client.FieldIndexer) error // by which the Reconciler finds objects
	// New makes the Reconciler. Its client, cache and live reader are the same, so its reads are
	// never late.
	New func(client.Client, client.WriteWaiter) reconcile.Reconciler
	// Shows returns what users see in the end, without names and times.
	Shows func(context.Context, client.Client) string
}

// errBroken is the error of a failed call. It doesn't say whether the server has carried the call
// out.
var errBroken = errors.New("the connection broke")

// SurvivesEachFailure makes each call fail, once before the server has carried it out, and once
// after. The Reconciler has to return the error, or it wouldn't be called again. After the retries,
// the result must be the same as without the failure, with exactly as many writes. It returns what
// users see in the end.
func (w Work) SurvivesEachFailure(t *testing.T) (shows string) {
	t.Helper()
	log.SetLogger(logr.Discard()) // the fake client logs warnings about old kinds
	calm := w.play(t, -1, false)
	require.Empty(t, calm.errors)
	for n := range calm.made {
		for _, lost := range []bool{false, true} {
			tried := w.play(t, n, lost)
			what := fmt.Sprintf("call %d: %s; answer lost: %t", n, tried.failed, lost)
			if lost && !isWrite(tried.failed) {
				continue
			}
			require.NotEmpty(t, tried.failed, what)
			if !lost {
				require.NotEmpty(t, tried.errors, "%s: nobody heard of it", what)
			}
			for _, err := range tried.errors {
				require.ErrorIs(t, err, errBroken, what)
			}
			require.LessOrEqual(t, len(tried.errors), 1, "%s: %v", what, tried.errors)
			require.Equal(t, calm.wrote, tried.wrote, what)
			require.Equal(t, calm.shows, tried.shows, what)
		}
	}
	return calm.shows
}

// played is the result of one run of Work.
type played struct {
	*calls
	errors []error
	shows  string
}

// play calls the Reconciler as a controller does, also after each of its writes, until nothing is
// left to do. It ignores a RequeueAfter of more than a minute.
func (w Work) play(t *testing.T, failing int, lost bool) (out played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out.calls = &calls{failing: failing, lost: lost, wrote: map[string]int{}}
		builder := fake.NewClientBuilder().WithObjects(w.Objects()...)
		require.NoError(t, w.Indexes(IndexerOf(builder)))
		calm := builder.Build()
		r := w.New(interceptor.NewClient(calm, out.funcs()), out)
		for range 20 {
			before := out.writes
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.For})
			switch {
			case err != nil:
				out.errors = append(out.errors, err)
				require.Zero(t, result,
					"it is not heeded beside an error, and there would be a line in the log "+
						"about it")
			case result.RequeueAfter > 0 && result.RequeueAfter <= time.Minute:
				time.Sleep(result.RequeueAfter)
			case out.writes == before:
				out.shows = w.Shows(t.Context(), calm)
				return
			}
		}
		t.Error("it does not come to an end")
	})
	return out
}

// calls counts the calls of one Reconciler, and lets one of them fail.
type calls struct {
	failing int
	lost    bool // the call is carried out, and then fails

	mu     sync.Mutex     // guards the rest
	made   int            // how many
	failed string         // which one
	writes int            // how many of them could write
	wrote  map[string]int // those carried out, except of a status, which may be written once more
}

func (c *calls) call(verb string, object any, do func() error) error {
	name := verb + " " + strings.TrimPrefix(fmt.Sprintf("%T", object), "*")
	c.mu.Lock()
	fails := c.made == c.failing
	if c.made++; isWrite(name) {
		c.writes++
	}
	if fails {
		c.failed = name
	}
	c.mu.Unlock()
	if fails && !c.lost {
		return errBroken
	}
	err := do()
	if err == nil && isWrite(name) && !strings.HasPrefix(name, "patch status") {
		c.mu.Lock()
		c.wrote[name]++
		c.mu.Unlock()
	}
	if fails {
		return errBroken
	}
	return err
}

func isWrite(call string) bool {
	return !strings.HasPrefix(call, "get ") && !strings.HasPrefix(call, "list ") &&
		!strings.HasPrefix(call, "wait ")
}

func (c *calls) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(
			ctx context.Context, to client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption,
		) error {
			return c.call("get", o, func() error { return to.Get(ctx, key, o, opts...) })
		},
		List: func(
			ctx context.Context, to client.WithWatch, list client.ObjectList,
			opts ...client.ListOption,
		) error {
			return c.call("list", list, func() error { return to.List(ctx, list, opts...) })
		},
		Create: func(
			ctx context.Context, to client.WithWatch, o client.Object,
			opts ...client.CreateOption,
		) error {
			return c.call("create", o, func() error { return to.Create(ctx, o, opts...) })
		},
		Delete: func(
			ctx context.Context, to client.WithWatch, o client.Object,
			opts ...client.DeleteOption,
		) error {
			return c.call("delete", o, func() error { return to.Delete(ctx, o, opts...) })
		},
		Update: func(
			ctx context.Context, to client.WithWatch, o client.Object,
			opts ...client.UpdateOption,
		) error {
			return c.call("update", o, func() error { return to.Update(ctx, o, opts...) })
		},
		Patch: func(
			ctx context.Context, to client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption,
		) error {
			return c.call("patch", o, func() error { return to.Patch(ctx, o, patch, opts...) })
		},
		SubResourcePatch: func(
			ctx context.Context, to client.Client, name string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			return c.call("patch "+name, o, func() error {
				return to.SubResource(name).Patch(ctx, o, patch, opts...)
			})
		},
	}
}

// Holds implements client.WriteWaiter.
func (c *calls) Holds(client.Object) bool { return false }

// WaitFor implements client.WriteWaiter.
func (c *calls) WaitFor(_ context.Context, o client.Object, _ client.ObjectKey, _ string) error {
	return c.call("wait", o, func() error { return nil })
}

// WaitForEnd implements client.WriteWaiter.
func (c *calls) WaitForEnd(
	_ context.Context, o client.Object, _ client.ObjectKey, _ func(client.Object) bool,
) error {
	return c.call("wait", o, func() error { return nil })
}

// Sharing is for the client of a Reconciler that reads from a cache. It fails the test if a read
// asks for copies: a reconcile of a thousand Pods would allocate them all.
func Sharing(t *testing.T) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(
			ctx context.Context, to client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption,
		) error {
			options := client.GetOptions{UnsafeDisableDeepCopy: new(false)}
			options.ApplyOptions(opts)
			require.True(t, *options.UnsafeDisableDeepCopy, "%T %s is copied", o, key)
			return to.Get(ctx, key, o, opts...)
		},
		List: func(
			ctx context.Context, to client.WithWatch, list client.ObjectList,
			opts ...client.ListOption,
		) error {
			options := client.ListOptions{UnsafeDisableDeepCopy: new(false)}
			options.ApplyOptions(opts)
			require.True(t, *options.UnsafeDisableDeepCopy, "%T is copied", list)
			return to.List(ctx, list, opts...)
		},
	}
}

// IndexerOf adds indexes to a client that is being built.
func IndexerOf(to *fake.ClientBuilder) client.FieldIndexer { return indexer{to} }

type indexer struct{ to *fake.ClientBuilder }

// IndexField implements client.FieldIndexer.
func (i indexer) IndexField(
	_ context.Context, of client.Object, field string, values client.IndexerFunc,
) error {
	i.to.WithIndex(of, field, values)
	return nil
}
