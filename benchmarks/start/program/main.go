// Command program is a small program as users write it for controller-runtime: a manager with a controller for
// ConfigMaps. A benchmark builds it as it is, and once more with the import paths of this library.
package main

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Reconciler looks at ConfigMaps.
type Reconciler struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var found corev1.ConfigMap
	return ctrl.Result{}, client.IgnoreNotFound(r.Get(ctx, req.NamespacedName, &found))
}

func main() {
	ctrl.SetLogger(zap.New())
	log := ctrl.Log.WithName("setup")
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		HealthProbeBindAddress: ":8081", LeaderElection: true, LeaderElectionID: "program.example.com",
	})
	if err != nil {
		log.Error(err, "no manager")
		os.Exit(1)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		log.Error(err, "no health check")
		os.Exit(1)
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(&Reconciler{mgr.GetClient()}); err != nil {
		log.Error(err, "no controller")
		os.Exit(1)
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Error(err, "the manager ended")
		os.Exit(1)
	}
}
