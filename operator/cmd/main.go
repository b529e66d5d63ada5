// Command manager runs the site operator.
package main

import (
	"flag"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
	webv1alpha1 "github.com/loopwright/loopwright/operator/api/v1alpha1"
	"github.com/loopwright/loopwright/operator/internal/controller"
	"github.com/loopwright/loopwright/operator/internal/registrar"
	"github.com/loopwright/loopwright/operator/internal/webhook"
)

var (
	scheme   = runtime.NewScheme()
	setupLog = ctrl.Log.WithName("setup")
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(webv1.AddToScheme(scheme))
	utilruntime.Must(webv1alpha1.AddToScheme(scheme))
}

func main() {
	var metricsAddr, probeAddr, certDir, webhookHost, registrarURL, electionNamespace string
	var webhookPort int
	var elect bool
	var lease, renew, retry time.Duration
	flag.StringVar(&metricsAddr, "metrics-bind-address", ":8080", "Where metrics are served; 0 turns them off.")
	flag.StringVar(&probeAddr, "health-probe-bind-address", ":8081", "Where the probes are served.")
	flag.StringVar(&webhookHost, "webhook-host", "", "The address at which webhooks are served; all, if it is empty.")
	flag.IntVar(&webhookPort, "webhook-port", 9443, "The port at which webhooks are served.")
	flag.StringVar(&certDir, "webhook-cert-path", "", "The directory with tls.crt and tls.key of the webhook server.")
	flag.StringVar(&registrarURL, "registrar-url", "http://registrar.example.com", "Where the registrar is.")
	flag.BoolVar(&elect, "leader-elect", false, "Let several replicas agree on one that works.")
	flag.StringVar(&electionNamespace, "leader-elect-namespace", "", "The namespace of the lease; that of the Pod, if it is empty.")
	flag.DurationVar(&lease, "leader-elect-lease-duration", 15*time.Second, "How long a leader that is not heard of stays leader.")
	flag.DurationVar(&renew, "leader-elect-renew-deadline", 10*time.Second, "How long a leader tries to renew the lease before it gives up.")
	flag.DurationVar(&retry, "leader-elect-retry-period", 2*time.Second, "How often the lease is looked at.")
	options := zap.Options{}
	options.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&options)))

	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: metricsAddr},
		HealthProbeBindAddress:        probeAddr,
		WebhookServer:                 ctrlwebhook.NewServer(ctrlwebhook.Options{Host: webhookHost, Port: webhookPort, CertDir: certDir}),
		LeaderElection:                elect,
		LeaderElectionID:              "site-operator.web.example.com",
		LeaderElectionNamespace:       electionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	exitOn(err, "unable to create the manager")

	ctx := ctrl.SetupSignalHandler()
	exitOn((&controller.SiteReconciler{
		Client:    mgr.GetClient(),
		Recorder:  mgr.GetEventRecorder("site-controller"),
		Registrar: &registrar.Client{URL: registrarURL},
	}).SetupWithManager(ctx, mgr), "unable to set up the controller")
	exitOn(webhook.SetupSiteWebhooks(mgr), "unable to set up the webhooks")
	exitOn(mgr.AddHealthzCheck("healthz", healthz.Ping), "unable to set up the health check")
	exitOn(mgr.AddReadyzCheck("readyz", mgr.GetWebhookServer().StartedChecker()), "unable to set up the readiness check")

	setupLog.Info("starting the manager")
	exitOn(mgr.Start(ctx), "the manager has failed")
}

func exitOn(err error, message string) {
	if err != nil {
		setupLog.Error(err, message)
		os.Exit(1)
	}
}
