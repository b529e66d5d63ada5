package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// probeSource is a source of the controller that has no events. A controller's workers wait until its sources are
// ready, so nothing is reconciled while it probes; and a manager starts a controller when this process leads.
type probeSource struct {
	prober *prober
	logger logr.Logger
}

func newProbeSource(mgr manager.Manager, probe Probe, options ProbeOptions) (*probeSource, error) {
	// A client of its own asks the server, and not the cache: that may not have the probe's namespace.
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), Log: mgr.GetLogger(),
	})
	if err != nil {
		return nil, fmt.Errorf("making the client of the probe: %w", err)
	}
	p := &prober{
		Probe: probe, client: c, namespace: cmp.Or(options.Namespace, "default"), name: probeManager + "-" + rand.String(8),
		wait: cmp.Or(options.Wait, 3*time.Second),
	}
	if p.probes, err = apiutil.GVKForObject(probe.Object, mgr.GetScheme()); err != nil {
		return nil, fmt.Errorf("the probe of the %s: %w", probe.Original, err)
	}
	if p.answers, err = apiutil.GVKForObject(p.answerOr(probe.Object), mgr.GetScheme()); err != nil {
		return nil, fmt.Errorf("the probe of the %s: %w", probe.Original, err)
	}
	return &probeSource{p, mgr.GetLogger()}, nil
}

// Start implements source.Source.
func (s *probeSource) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

// WaitForSync implements source.SyncingSource.
func (s *probeSource) WaitForSync(ctx context.Context) error {
	logger := s.logger.WithValues("namespace", s.prober.namespace, "wait", s.prober.wait)
	var last error
	for {
		logger.Info("Probing whether somebody else does the work of the " + s.prober.Original)
		err := s.prober.probe(ctx)
		switch {
		case err == nil || isFinal(err):
			return err
		case ctx.Err() != nil: // which says less than what kept it from being done in time
			return cmp.Or(last, err)
		}
		last = err
		logger.Error(err, "Probing again")
		sleep(ctx, pause)
	}
}

// String is what the source is called in messages.
func (s *probeSource) String() string { return "probe of the " + s.prober.Original }

// newObject makes an empty object of a kind.
func newObject(c client.Client, kind schema.GroupVersionKind) (client.Object, error) {
	return newOf[client.Object](c.Scheme(), kind)
}

// newList makes an empty list of objects of a kind.
func newList(c client.Client, kind schema.GroupVersionKind) (client.ObjectList, error) {
	kind.Kind += "List"
	return newOf[client.ObjectList](c.Scheme(), kind)
}

func newOf[T any](scheme *runtime.Scheme, kind schema.GroupVersionKind) (made T, err error) {
	object, err := scheme.New(kind)
	made, ok := object.(T)
	if err == nil && !ok {
		err = fmt.Errorf("the kind %s is a %T in Go, which does not serve", kind, object)
	}
	return made, err
}

func eachItem(list client.ObjectList, do func(client.Object) error) error {
	return meta.EachListItem(list, func(item runtime.Object) error { return do(item.(client.Object)) })
}
