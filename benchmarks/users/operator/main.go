// Package operator is the main of a program as kubebuilder writes it, with its flags and all.
package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net/http"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var (
	scheme   = runtime.NewScheme()
	setupLog = ctrl.Log.WithName("setup")
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
}

// Reconciler has what most reconcilers have.
type Reconciler struct {
	client.Client
	Scheme   *runtime.Scheme
	Recorder recorder.EventRecorder
}

// Reconcile reports each ReplicaSet.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	log := log.FromContext(ctx)
	var set appsv1.ReplicaSet
	if err := r.Get(ctx, req.NamespacedName, &set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	log.Info("looking", "replicas", set.Status.Replicas)
	r.Recorder.Eventf(&set, nil, corev1.EventTypeNormal, "Seen", "Look", "%d replicas", set.Status.Replicas)
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}

// SetupWithManager sets up the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, other cluster.Cluster) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&appsv1.ReplicaSet{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.Pod{}, builder.MatchEveryOwner).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request { return nil }), builder.OnlyMetadata).
		WatchesMetadata(&corev1.Secret{}, &handler.EnqueueRequestForObject{}).
		WatchesRawSource(source.Kind[client.Object](other.GetCache(), &corev1.Node{}, &handler.EnqueueRequestForObject{})).
		WithEventFilter(predicate.ResourceVersionChangedPredicate{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Named("sets").
		Complete(r)
}

type heartbeat struct{}

func (heartbeat) Start(ctx context.Context) error { <-ctx.Done(); return nil }
func (heartbeat) NeedLeaderElection() bool        { return false }

var _ manager.LeaderElectionRunnable = heartbeat{}

// Main is main.
func Main() {
	var metricsAddr, probeAddr string
	var enableLeaderElection bool
	flag.StringVar(&metricsAddr, "metrics-bind-address", "0", "")
	flag.StringVar(&probeAddr, "health-probe-bind-address", ":8081", "")
	flag.BoolVar(&enableLeaderElection, "leader-elect", false, "")
	opts := zap.Options{Development: true}
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&opts)))

	grace := 20 * time.Second
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme: scheme,
		Metrics: metricsserver.Options{
			BindAddress: metricsAddr, SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
			TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
		},
		HealthProbeBindAddress: probeAddr, PprofBindAddress: "127.0.0.1:6060",
		LeaderElection: enableLeaderElection, LeaderElectionID: "80807133.example.com", LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout: &grace,
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{"shop": {}}},
		Controller:              config.Controller{GroupKindConcurrency: map[string]int{"ReplicaSet.apps": 4}},
		BaseContext:             func() context.Context { return context.Background() },
	})
	if err != nil {
		setupLog.Error(err, "unable to start manager")
		os.Exit(1)
	}
	other, err := cluster.New(mgr.GetConfig(), func(o *cluster.Options) { o.Scheme = scheme })
	if err != nil {
		setupLog.Error(err, "unable to connect to the other cluster")
		os.Exit(1)
	}
	reconciler := &Reconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Recorder: mgr.GetEventRecorder("sets")}
	err = errors.Join(
		mgr.Add(other),
		mgr.Add(heartbeat{}),
		mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { <-mgr.Elected(); return nil })),
		mgr.Add(&manager.Server{Name: "extra", Server: &http.Server{Addr: "127.0.0.1:0"}, OnlyServeWhenLeader: true}),
		mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }),
		mgr.AddMetricsServerExtraHandler("/extra", http.NotFoundHandler()),
		mgr.AddHealthzCheck("healthz", healthz.Ping),
		mgr.AddReadyzCheck("readyz", healthz.Ping),
		reconciler.SetupWithManager(mgr, other),
		byHand(mgr),
	)
	if err != nil {
		setupLog.Error(err, "unable to set up")
		os.Exit(1)
	}
	setupLog.Info("starting manager")
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		setupLog.Error(err, "problem running manager")
		os.Exit(1)
	}
}

// byHand makes a controller without the builder.
func byHand(mgr manager.Manager) error {
	c, err := controller.New("by-hand", mgr, controller.Options{Reconciler: &Reconciler{Client: mgr.GetClient()}})
	if err != nil {
		return err
	}
	mgr.GetEventRecorderFor("by-hand").Event(&corev1.Pod{}, corev1.EventTypeNormal, "Made", "by hand")
	return c.Watch(source.Kind[client.Object](mgr.GetCache(), &corev1.Pod{}, &handler.EnqueueRequestForObject{}))
}
