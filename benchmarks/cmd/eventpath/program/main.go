// Command program sends one event through a manager, again and again, and writes after each the coverage
// counters of that event alone: eventpath DIR... writes one set into each directory. It is written for
// controller-runtime, and built once more with the import paths of this library.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/coverage"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// quiet is how long the program waits for what goes on beside an event: bookkeeping of the watch, other
// goroutines that were woken. It is generous, for slow machines.
const quiet = 300 * time.Millisecond

func main() {
	ctx := context.Background()
	events := make(chan string) // from here to the watch: the pod's resource versions
	server := httptest.NewServer(pods(events))
	reconciled := make(chan struct{}) // from the reconciler, which then waits for resume
	resume := make(chan struct{})

	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(&rest.Config{Host: server.URL}, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
			return mapper, nil
		},
	})
	must(err)
	must(ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).Complete(reconcile.Func(
		func(context.Context, ctrl.Request) (ctrl.Result, error) {
			reconciled <- struct{}{}
			<-resume
			return ctrl.Result{}, nil
		})))
	go func() { must(mgr.Start(ctx)) }()

	<-reconciled // the initial list's
	resume <- struct{}{}
	for i, dir := range os.Args[1:] {
		time.Sleep(quiet)
		must(coverage.ClearCounters())
		events <- strconv.Itoa(100 + i)
		<-reconciled
		time.Sleep(quiet)
		must(coverage.WriteMetaDir(dir))
		must(coverage.WriteCountersDir(dir))
		resume <- struct{}{}
	}
}

// pods is an API server with one pod, which can be listed and watched.
func pods(events <-chan string) http.Handler {
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "10"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		query := r.URL.Query()
		switch {
		case query.Get("sendInitialEvents") == "true": // both sides list then
			w.WriteHeader(http.StatusUnprocessableEntity)
			write(w, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
			})
		case query.Get("watch") == "":
			write(w, corev1.PodList{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
				ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{pod},
			})
		default:
			w.(http.Flusher).Flush()
			for version := range events {
				changed := pod
				changed.ResourceVersion = version
				write(w, map[string]any{"type": "MODIFIED", "object": changed})
				w.(http.Flusher).Flush()
			}
		}
	})
}

func write(w http.ResponseWriter, answer any) { must(json.NewEncoder(w).Encode(answer)) }

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}
