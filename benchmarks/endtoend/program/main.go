// Command program is a controller as users write it for controller-runtime. Each of its reconciles writes: it copies what a
// ConfigMap asks for to what it has. When all have got it, it prints what that took, and ends. A benchmark builds it as it is, and once more
// with the import paths of this library.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Took is what the program prints.
type Took struct {
	Nanoseconds    int64 // from the first line of main to the last write
	CPUNanoseconds int64 // of all threads, for the whole life
	Calls          int64 // HTTP requests, discovery and watches included
	Conflicts      int64 // writes that the API server refused
	Peak           int64 // bytes of memory, at most
}

// Reconciler does the work.
type Reconciler struct {
	client.Client
	left      atomic.Int64
	conflicts atomic.Int64
	done      context.CancelFunc
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var found corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	wanted, asks := found.Data["wanted"]
	if !asks || found.Data["has"] == wanted {
		return ctrl.Result{}, nil
	}
	found.Data["has"] = wanted
	if err := r.Update(ctx, &found); err != nil {
		r.conflicts.Add(1)
		return ctrl.Result{}, err
	}
	if r.left.Add(-1) == 0 {
		r.done()
	}
	return ctrl.Result{}, nil
}

type counting struct {
	http.RoundTripper
	calls *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

func main() {
	began := time.Now()
	namespace, objects := flag.String("namespace", "", "where the ConfigMaps are"), flag.Int64("objects", 0, "how many there are")
	flag.Parse()
	took, err := run(began, *namespace, *objects)
	if err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
		os.Exit(1)
	}
}

func run(began time.Time, namespace string, objects int64) (took Took, err error) {
	ctrl.SetLogger(logr.Discard())
	config, err := ctrl.GetConfig()
	if err != nil {
		return took, err
	}
	var calls atomic.Int64
	config = rest.CopyConfig(config)
	config.QPS = -1 // no client-side throttling
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &calls} })
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return took, err
	}
	ctx, done := context.WithCancel(context.Background())
	defer done()
	reconciler := &Reconciler{Client: manager.GetClient(), done: done}
	reconciler.left.Store(objects)
	err = ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).Complete(reconciler)
	if err != nil {
		return took, err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case <-ctx.Done():
	case err := <-ended:
		return took, fmt.Errorf("the manager ended early: %w", err)
	}
	took.Nanoseconds = time.Since(began).Nanoseconds()
	took.Calls, took.Conflicts = calls.Load(), reconciler.conflicts.Load()
	if err := <-ended; err != nil {
		return took, err
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return took, err
	}
	took.CPUNanoseconds, took.Peak = usage.Utime.Nano()+usage.Stime.Nano(), int64(usage.Maxrss)
	// On Linux, that is in KiB, and what started this process counts as well. The kernel knows better.
	if status, err := os.Open("/proc/self/status"); err == nil {
		defer func() { _ = status.Close() }()
		for lines := bufio.NewScanner(status); lines.Scan(); {
			if n, _ := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &took.Peak); n == 1 {
				took.Peak *= 1024
				break
			}
		}
	}
	return took, nil
}
