package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// This file is the program that each process runs: for each ConfigMap it counts up by one, about once
// a second, and notes what's wanted.

// replicaOf in the environment is the address of the test that started this process.
const replicaOf = "LOOPWRIGHT_TAKEOVER"

// A replica leads for 13 s after a renewal, and has 7 s to end its reconciles, of which a write may
// take 3. The rest is for busy machines: where nothing gets a turn for 13 s, all replicas end.
const (
	leaseDuration = 20 * time.Second
	renewDeadline = 12 * time.Second
	retryPeriod   = time.Second
	writeTimeout  = 3 * time.Second
)

// What a reconcile may report.
const (
	succeeded = "succeeded"
	conflict  = "conflict"
	late      = "its Lease has run out"
	failed    = "failed"
)

var teamLabel = labels.Set{"team": "takeover"}

// replica runs the program, and returns its exit code.
func replica(address string) int {
	go func() { // which ends when the test's process does
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := runReplica(ctx, address); err != nil {
		fmt.Fprintln(os.Stderr, "the replica has failed:", err)
		time.Sleep(2 * time.Second) // a program may take its time to exit, and its reconciles go on until then
		return 1
	}
	return 0
}

func runReplica(ctx context.Context, address string) error {
	m, err := manager.New(&rest.Config{Host: address, QPS: -1}, manager.Options{
		Logger: funcr.New(func(prefix, text string) {
			fmt.Fprintln(os.Stderr, time.Now().Format("04:05.000"), prefix, text)
		}, funcr.Options{}),
		Metrics:       server.Options{BindAddress: "0"},
		Sharding:      &manager.Sharding{ID: "takeover", Namespace: "default", GracePeriod: 2 * time.Second},
		LeaseDuration: new(leaseDuration), RenewDeadline: new(renewDeadline), RetryPeriod: new(retryPeriod),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(teamLabel)},
		}},
		// Otherwise a cache that's late, as on a busy machine, looks like one that has missed a write.
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
	})
	if err != nil {
		return err
	}
	r := &counter{address: address, client: m.GetClient()}
	c, err := controller.New("counter", m, controller.Options{
		MaxConcurrentReconciles: 20, Reconciler: reconcile.Func(r.reconcile),
	})
	if err != nil {
		return err
	}
	wanted := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.(*corev1.ConfigMap).Data["wanted"] != e.ObjectNew.(*corev1.ConfigMap).Data["wanted"]
	}}
	err = c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
		&handler.EnqueueRequestForObject{}, wanted))
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

type counter struct {
	address string
	client  client.Client
}

// reconcile tells the test that it begins. The answer comes when the work is done. Then it writes, even
// if ctx has ended meanwhile: what mustn't be written has to be refused.
func (r *counter) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	at := time.Now()
	ctx = context.WithoutCancel(ctx)
	err := r.report(ctx, "begin", request.String(), at.Format(time.RFC3339Nano))
	if err == nil {
		err = r.count(ctx, request)
	}
	result := succeeded
	switch {
	case apierrors.IsConflict(err):
		result = conflict
	case errors.Is(err, manager.ErrLate):
		result = late
	case err != nil:
		result = failed
	}
	if told := r.report(ctx, "end", request.String(), result); told != nil {
		err = errors.Join(err, told)
	}
	return reconcile.Result{RequeueAfter: time.Second}, err
}

func (r *counter) count(ctx context.Context, request reconcile.Request) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var object corev1.ConfigMap
	if err := r.client.Get(ctx, request.NamespacedName, &object); err != nil {
		return err
	}
	number, err := strconv.Atoi(object.Data["number"])
	if err != nil {
		return err
	}
	object.Data["number"] = strconv.Itoa(number + 1)
	object.Data["seen"] = object.Data["wanted"]
	return r.client.Update(ctx, &object)
}

// reporter has connections of its own. Without TLS, client-go's clients use http.DefaultTransport, and
// the desk cuts their connections: one on which an answer has just arrived may be idle by then, and
// the next request on it fails.
var reporter = &http.Client{Transport: &http.Transport{}}

// report says that a reconcile begins, and since when, or that it ends, and how.
func (r *counter) report(ctx context.Context, what, object, how string) error {
	query := url.Values{"object": {object}, "how": {how}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address+reports+what+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := reporter.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the test's answer to a report is %s", response.Status)
	}
	return nil
}
