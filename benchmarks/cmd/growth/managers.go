package main

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	upstream "sigs.k8s.io/controller-runtime"
	upstreamclient "sigs.k8s.io/controller-runtime/pkg/client"
	upstreamconfig "sigs.k8s.io/controller-runtime/pkg/config"
	upstreamserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	upstreamreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/benchmarks/client/wire"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func ourManager(p program) (running, error) {
	m, err := ctrl.NewManager(p.config, ctrl.Options{
		Scheme: wire.Scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return running{}, err
	}
	get := func(ctx context.Context, name types.NamespacedName) error {
		return m.GetCache().Get(ctx, name, p.form.empty())
	}
	err = ctrl.NewControllerManagedBy(m).For(p.form.empty()).Complete(reconcile.Func(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
		if err := client.IgnoreNotFound(get(ctx, r.NamespacedName)); err != nil {
			return ctrl.Result{}, err
		}
		p.seen(r.Name)
		return ctrl.Result{}, nil
	}))
	return running{
		read: func(namespace, name string) error {
			return get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name})
		},
		stop: run(m.Start),
	}, err
}

func theirManager(p program) (running, error) {
	m, err := upstream.NewManager(p.config, upstream.Options{
		Scheme: wire.Scheme, Metrics: upstreamserver.Options{BindAddress: "0"}, Controller: upstreamconfig.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return running{}, err
	}
	get := func(ctx context.Context, name types.NamespacedName) error {
		return m.GetCache().Get(ctx, name, p.form.empty())
	}
	err = upstream.NewControllerManagedBy(m).For(p.form.empty()).Complete(upstreamreconcile.Func(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
		if err := upstreamclient.IgnoreNotFound(get(ctx, r.NamespacedName)); err != nil {
			return upstream.Result{}, err
		}
		p.seen(r.Name)
		return upstream.Result{}, nil
	}))
	return running{
		read: func(namespace, name string) error {
			return get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name})
		},
		stop: run(m.Start),
	}, err
}
