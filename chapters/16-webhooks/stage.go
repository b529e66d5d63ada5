package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	metricsserver "github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/manager/webhook/devca"
)

// stage is what the steps share.
type stage struct {
	*demo.Demo
	scheme  *runtime.Scheme
	users   client.Client
	manager manager.Manager
	ca      *devca.CA
	address string // as the API server knows it
	counts  counts
	said    warnings
	served  served
	ended   chan error // sent once, by the manager's goroutine
}

// counts are what the closing table shows. One goroutine at a time changes them.
type counts struct{ stored, refused, untrusted, failed int }

func newStage(ctx context.Context, d *demo.Demo) (*stage, error) {
	s := &stage{Demo: d, scheme: runtime.NewScheme(), ended: make(chan error, 1)}
	err := errors.Join(clientgoscheme.AddToScheme(s.scheme), apiextensionsv1.AddToScheme(s.scheme))
	addStalls(s.scheme)
	config := d.Config()
	config.QPS = -1
	config.WarningHandlerWithContext = &s.said
	var err2, err3 error
	s.users, err2 = client.New(config, client.Options{Scheme: s.scheme})
	where, err3 := findPlace(ctx, d)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	return s, s.prepare(where)
}

// region manager

// prepare makes a manager with the webhooks of stalls. The CA is not part of it yet.
func (s *stage) prepare(where place) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(where.listen, "0"))
	if err != nil {
		return fmt.Errorf("listening for the API server: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	s.address = "https://" + net.JoinHostPort(where.host, port)
	s.ca, err = devca.New(s.Config(), devca.Options{
		Hosts:                           []string{where.host},
		MutatingWebhookConfigurations:   []string{market},
		ValidatingWebhookConfigurations: []string{market},
		CustomResourceDefinitions:       []string{stalls},
	})
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Listener: listener, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.GetCertificate = s.served.noting(s.ca.GetCertificate)
	}}})
	s.manager, err = manager.New(s.Config(), manager.Options{
		Scheme: s.scheme, WebhookServer: oneConnectionEach{server}, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	hooks := newRecorded(s.Recorder)
	return builder.WebhookManagedBy(s.manager, &Stall{}).WithDefaulter(hooks).WithValidator(hooks).Complete()
}

// endregion manager

// oneConnectionEach closes a connection after its answer, in good order. So each request begins with a TLS handshake, and the
// demo need not wait until the API server makes a new connection.
type oneConnectionEach struct{ webhook.Server }

// Register implements webhook.Server.
func (s oneConnectionEach) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		hook.ServeHTTP(w, r)
	}))
}

// served has the certificates that handshakes were made with.
type served struct {
	mu   sync.Mutex // guards seen
	seen map[*tls.Certificate]bool
}

func (s *served) noting(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		certificate, err := get(hello)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.seen == nil {
			s.seen = map[*tls.Certificate]bool{}
		}
		s.seen[certificate] = true
		return certificate, err
	}
}

func (s *served) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// warnings are what kubectl would print with "Warning:" in front.
type warnings struct {
	mu    sync.Mutex // guards texts
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// start runs the manager until the function that it returns is called, which returns the manager's error.
func (s *stage) start(ctx context.Context) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	go func() { s.ended <- s.manager.Start(ctx) }()
	return func() error { stop(); return <-s.ended }
}

// until repeats a question until the answer is nil, or ctx ends.
func (s *stage) until(ctx context.Context, what string, ask func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		return last == nil, nil
	})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("waiting for %s: %w: %w", what, context.Cause(ctx), last)
	if connecting(last) {
		return unreachable(s.address, err)
	}
	return err
}

// connecting reports whether the API server could not connect to a webhook.
func connecting(err error) bool {
	if err == nil {
		return false
	}
	for _, text := range []string{"dial tcp", "context deadline exceeded", "no such host"} {
		if strings.Contains(err.Error(), "webhook") && strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// apply is a user with kubectl: create the stall, or update it, and print what kubectl would print.
func (s *stage) apply(ctx context.Context, write func(context.Context, client.Object) error, stall client.Object) error {
	err := write(ctx, stall)
	for _, text := range s.said.take() {
		s.Say("Warning: %s", text)
	}
	if refused(err) {
		s.counts.refused++
		s.Say("Error from server (%s): %s", reason(err), err)
		return nil
	}
	if err == nil {
		s.counts.stored++
	}
	return err
}

func (s *stage) stall(name, fruit string, opens, closes int) *Stall {
	return &Stall{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: StallSpec{fruit, opens, closes}}
}

func (s *stage) stallV1(name, fruit, hours string) *StallV1 {
	return &StallV1{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: StallV1Spec{fruit, hours}}
}

func number(n int) string { return strconv.Itoa(n) }
