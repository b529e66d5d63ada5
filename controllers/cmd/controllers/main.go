// Command controllers runs the controllers of this library instead of Kubernetes' own, until it is
// interrupted.
//
// It reads settings from the command line and a file (settings.go), and runs a manager with the
// controllers (run).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/controllers/all"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/config"
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/log"
)

func main() {
	err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

// run is main for tests: it writes help to out, and logs to logs. It returns when ctx ends, or with
// an error.
func run(ctx context.Context, args []string, out, logs io.Writer) error {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	logger := log.FromSlog(s.handler(logs))
	ctrl.SetLogger(logger)
	s.manager.Logger = logger
	cluster, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	cluster.WarningHandlerWithContext = warnings{
		log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true}),
	}
	if s.makesNamespace() {
		if err := makeNamespace(ctx, cluster); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(cluster, s.manager)
	if err != nil {
		return err
	}
	err = errors.Join(
		all.Add(mgr, s.options, s.controllers...),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", manager.CacheSyncCheck(mgr.GetCache())),
	)
	if err != nil {
		return err
	}
	logger.Info("Starting", "controllers", strings.Join(s.controllers, ","),
		"cluster", cluster.Host, "lease", s.lease(), "metrics", s.manager.Metrics.BindAddress,
		"probes", s.manager.HealthProbeBindAddress, "debug", s.manager.PprofBindAddress)
	return mgr.Start(ctx)
}

// makeNamespace creates the namespace of the lease, unless it exists.
func makeNamespace(ctx context.Context, cluster *rest.Config) error {
	c, err := client.New(cluster, client.Options{})
	if err != nil {
		return fmt.Errorf("making a client for the namespace of the lease: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: leaseNamespace}}
	// Looking first spares a program that may not create namespaces the refusal.
	key := client.ObjectKeyFromObject(namespace)
	if err = c.Get(ctx, key, &corev1.Namespace{}); client.IsAbsent(err, key) {
		err = c.Create(ctx, namespace)
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the namespace %s, which has the lease: create it yourself, or choose "+
			"another one with --leader-election-namespace: %w", leaseNamespace, err)
	}
	return nil
}

// warnings passes on the API server's warnings, except for the one that this program can't avoid:
// it writes Endpoints, for clients that still read them.
type warnings struct{ rest.WarningHandlerWithContext }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(
	ctx context.Context, code int, agent, text string,
) {
	if !strings.HasPrefix(text, "v1 Endpoints is deprecated") {
		w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, text)
	}
}
