package shards

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// workers is how many reconciles a replica does at a time.
const workers = 20

var ours = labels.Set{"of": "bench-shards"}

// replicaEnv has a Replica as JSON.
const replicaEnv = "LOOPWRIGHT_BENCH_SHARDS"

// Replica is what a replica has to know.
type Replica struct {
	Kubeconfig    string
	ID            string
	Work          time.Duration // what a reconcile takes: it waits that long
	LeaseDuration time.Duration
	Objects       int // how many there are
}

// report is what a replica says every quarter of a second.
type report struct {
	Received int64  // bytes of bodies from the API server since the start
	CPU      int64  // nanoseconds since the start
	Resident int64  // bytes of memory now
	Peak     int64  // and at most
	Done     []byte // the objects that it has reconciled since its last report: a bit for each
	Count    int    // and how often
}

// RunIfReplica runs this process as a replica if that's what Measure has started it for, and exits.
// A program that calls Measure calls it first.
func RunIfReplica() {
	text := os.Getenv(replicaEnv)
	if text == "" {
		return
	}
	go func() { // which ends when the process that has started this one does
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	var r Replica
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.run(context.Background())
	}
	fmt.Fprintln(os.Stderr, "a replica has failed:", err)
	os.Exit(1)
}

func (r Replica) run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	config.DisableCompression = true
	log.SetLogger(logr.Discard())
	go tidyUp()
	w := &worker{Replica: r, done: make([]byte, (r.Objects+7)/8)}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &w.received} })
	m, err := manager.New(config, manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Sharding:      &manager.Sharding{ID: r.ID, Namespace: "default"},
		LeaseDuration: new(r.LeaseDuration), RenewDeadline: new(r.LeaseDuration * 2 / 3),
		RetryPeriod: new(r.LeaseDuration * 2 / 15), // 15, 10 and 2 s are the defaults
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(ours)},
		}},
	})
	if err != nil {
		return err
	}
	w.client = m.GetClient()
	c, err := controller.New("bench", m, controller.Options{
		MaxConcurrentReconciles: workers, Reconciler: reconcile.Func(w.reconcile),
	})
	if err != nil {
		return err
	}
	if err := c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
		&handler.EnqueueRequestForObject{})); err != nil {
		return err
	}
	go w.report(os.Stdout)
	return m.Start(ctx)
}

type worker struct {
	Replica
	client   client.Client
	received atomic.Int64

	mu    sync.Mutex // guards done and count
	done  []byte
	count int
}

// reconcile reads the object from the cache, and waits, as for the answer of another service.
func (w *worker) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object corev1.ConfigMap
	if err := w.client.Get(ctx, request.NamespacedName, &object); err != nil {
		return reconcile.Result{}, err
	}
	select {
	case <-time.After(w.Work):
	case <-ctx.Done():
		return reconcile.Result{}, context.Cause(ctx)
	}
	at, err := numberOf(request.Name)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[at/8] |= 1 << (at % 8)
	w.count++
	return reconcile.Result{}, nil
}

// report writes a report every quarter of a second.
func (w *worker) report(to io.Writer) {
	for encoder := json.NewEncoder(to); ; time.Sleep(time.Second / 4) {
		w.mu.Lock()
		r := report{Done: w.done, Count: w.count}
		w.done, w.count = make([]byte, len(w.done)), 0
		w.mu.Unlock()
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
			r.CPU = usage.Utime.Nano() + usage.Stime.Nano()
		}
		r.Received = w.received.Load()
		r.Resident, r.Peak = memory()
		if encoder.Encode(r) != nil {
			os.Exit(3)
		}
	}
}

// tidy is the signal that makes a replica give back the memory that it doesn't need. Go does that by
// itself, but takes minutes.
const tidy = syscall.SIGUSR1

func tidyUp() {
	signals := make(chan os.Signal, 1) // sent by package signal
	signal.Notify(signals, tidy)
	for range signals {
		debug.FreeOSMemory()
	}
}

// memory is what the kernel says of this process. Zeros are unknown: only Linux says it this way.
func memory() (resident, peak int64) {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		for name, into := range map[string]*int64{"VmRSS:": &resident, "VmHWM:": &peak} {
			if rest, is := strings.CutPrefix(line, name); is {
				kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				*into = kilobytes << 10
			}
		}
	}
	return resident, peak
}

// nameOf is the name of an object, which has its number.
func nameOf(number int) string { return fmt.Sprintf("object-%d", number) }

func numberOf(name string) (int, error) { return strconv.Atoi(strings.TrimPrefix(name, "object-")) }

// namespaceOf is a name whose first letters differ, as those of teams do.
func namespaceOf(n int) string {
	return fmt.Sprintf("%c%c-team-%d", 'a'+n%26, 'a'+n/26%26, n)
}

// counting counts the bytes of answers.
type counting struct {
	http.RoundTripper
	bytes *atomic.Int64
}

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = countingBody{response.Body, c.bytes}
	}
	return response, err
}

type countingBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}
