package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
	webv1alpha1 "github.com/loopwright/loopwright/operator/api/v1alpha1"
	"github.com/loopwright/loopwright/operator/internal/webhook"
)

// limit is how long something may take that takes no time.
const limit = 2 * time.Minute

var (
	k8sClient client.Client
	desk      = &memory{hosts: map[string]string{}, token: "secret"}
)

// TestMain runs the operator on an API server of its own, with its webhooks, for all tests.
func TestMain(m *testing.M) {
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (code int, err error) {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), webv1.AddToScheme(scheme), webv1alpha1.AddToScheme(scheme)); err != nil {
		return 1, err
	}
	environment := &envtest.Environment{
		Scheme:                scheme,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("..", "..", "config", "webhook")}},
	}
	config, err := environment.Start()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()

	options := environment.WebhookInstallOptions
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{
			Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
		}),
	})
	if err != nil {
		return 1, err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	reconciler := &SiteReconciler{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("site-controller"), Registrar: desk}
	if err := errors.Join(reconciler.SetupWithManager(ctx, mgr), webhook.SetupSiteWebhooks(mgr)); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	if err := poll(ctx, func() error { return mgr.GetWebhookServer().StartedChecker()(nil) }); err != nil {
		return 1, err
	}
	if k8sClient, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// poll asks again until there is no error, or the limit is over.
func poll(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer was: %w", ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func eventually(t *testing.T, ask func() error) {
	t.Helper()
	if err := poll(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
}
