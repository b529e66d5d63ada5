package main

import (
	"context"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/trace"
)

// recorded is a client whose writes are in the timeline.
func recorded(c client.WithWatch, recorder *trace.Recorder) client.Client {
	tell := func(op string, obj client.Object, write func() error) error {
		began := time.Now()
		err := write()
		e := trace.Event{Kind: trace.Write, Layer: controllerName, Op: op, Object: reflect.TypeOf(obj).Elem().Name(),
			Namespace: obj.GetNamespace(), Name: obj.GetName(), Version: obj.GetResourceVersion(), Took: time.Since(began)}
		switch {
		case apierrors.IsConflict(err):
			e.Outcome = trace.Conflict
		case err != nil:
			e.Outcome, e.Reason = trace.Failed, err.Error()
		}
		recorder.Record(e)
		return err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return tell("create", obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return tell("update", obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return tell("patch", obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return tell("patch of the "+name, obj, func() error { return c.SubResource(name).Patch(ctx, obj, patch, opts...) })
		},
	})
}
