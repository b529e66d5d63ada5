// Package devca gives webhooks certificates while they are being developed.
//
// The API server calls webhooks over TLS only, and trusts the CA whose certificate is in the field
// caBundle of the webhook's configuration. A CA makes its key, signs the server's certificate, and
// writes its own certificate into the configurations:
//
//	key -> certificate -> TLS handshakes
//	    -> bundle -> Mutating- and ValidatingWebhookConfigurations, CustomResourceDefinitions
//
// It writes its certificate again if another client has overwritten it, and renews both
// certificates in time, or within a minute after the machine was suspended. Keys stay in memory.
//
//	ca, err := devca.New(config, devca.Options{ValidatingWebhookConfigurations: []string{"shop"}})
//	mgr, err := ctrl.NewManager(config, ctrl.Options{WebhookServer: ca.NewServer(webhook.Options{})})
//
// Caveats: it's for one process. Two replicas would each write their own CA, and the API server
// would trust the last one only. In production, cert-manager or a Secret provides the certificate,
// and the webhook server reads it from its CertDir.
//
// Neighbours: below it are the client and the webhook server. Above it is the user's main.
package devca

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/webhook"
)

var packageLog = log.RuntimeLog.WithName("devca")

// Options say which hosts the certificates are for, and in which configurations the CA is
// published.
type Options struct {
	// Hosts are the names and addresses that the API server connects to: the host of
	// clientConfig.url, or service.namespace.svc for clientConfig.service. The default is
	// localhost, 127.0.0.1 and ::1.
	Hosts []string

	// The names of the configurations that get the CA's certificate, in all of their webhooks. They
	// don't have to exist yet.
	MutatingWebhookConfigurations   []string
	ValidatingWebhookConfigurations []string
	CustomResourceDefinitions       []string

	// Lifetime is how long the server's certificate is valid; the CA's is valid ten times as long.
	// The default is a day. A certificate is renewed after two thirds of its life.
	Lifetime time.Duration
}

// authorityLifetimes is how many lives of a serving certificate a CA lasts.
const authorityLifetimes = 10

// CA makes certificates and publishes its own.
type CA struct {
	client  client.WithWatch
	options Options
	targets []target

	mu         sync.Mutex    // guards all below
	generation generation    // the current certificates
	another    chan struct{} // closed when the bundle changes; then there's a new one
	announced  map[target]announcement
	// changed is closed when announced changes, or Renew is called; then there's a new one.
	changed chan struct{}
	stepped chan struct{} // closed when the generation changes; then there's a new one
}

// announcement is the bundle that a target has, or the reason why it has none.
type announcement struct {
	bundle []byte
	err    error
}

// New makes the CA and the first certificate. It doesn't publish the CA; the server's Start does.
func New(config *rest.Config, options Options) (*CA, error) {
	if options.Lifetime == 0 {
		options.Lifetime = 24 * time.Hour
	}
	if options.Lifetime < 3*settling {
		return nil, fmt.Errorf("devca: a lifetime of %s is too short: "+
			"the API server needs some seconds to learn about a new CA; take %s or more",
			options.Lifetime, 3*settling)
	}
	if options.Lifetime > math.MaxInt64/authorityLifetimes {
		return nil, fmt.Errorf("devca: a lifetime of %s is too long: the CA's is %d times as long; "+
			"take a year or less", options.Lifetime, authorityLifetimes)
	}
	if len(options.Hosts) == 0 {
		options.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	c := &CA{
		options: options, another: make(chan struct{}), changed: make(chan struct{}),
		stepped: make(chan struct{}), announced: map[target]announcement{},
	}
	for _, name := range options.MutatingWebhookConfigurations {
		c.targets = append(c.targets, target{mutating, name})
	}
	for _, name := range options.ValidatingWebhookConfigurations {
		c.targets = append(c.targets, target{validating, name})
	}
	for _, name := range options.CustomResourceDefinitions {
		c.targets = append(c.targets, target{crd, name})
	}
	var err error
	if c.client, err = client.NewWithWatch(config, client.Options{}); err != nil {
		return nil, fmt.Errorf("devca: %w", err)
	}
	now := wallClock()
	c.generation.signer, err = newAuthority(now, options.Lifetime*authorityLifetimes)
	if err != nil {
		return nil, err
	}
	c.generation.serving, err = c.generation.signer.serve(now, options.Lifetime, options.Hosts)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// GetCertificate returns the server's certificate. Use it as tls.Config.GetCertificate.
func (c *CA) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generation.serving.pair, nil
}

// Bundle returns the certificates that the API server has to trust, in PEM form.
func (c *CA) Bundle() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generation.bundle()
}

// NewServer returns a webhook server with the certificate of this CA. The server's Start publishes
// the CA and renews the certificates.
//
// Its StartedChecker also fails until the CA is in all configurations, and says which one lacks it.
func (c *CA) NewServer(options webhook.Options) webhook.Server {
	options.TLSOpts = append(slices.Clip(options.TLSOpts), func(config *tls.Config) {
		config.GetCertificate = c.GetCertificate
	})
	return &server{DefaultServer: &webhook.DefaultServer{Options: options}, ca: c}
}

type server struct {
	*webhook.DefaultServer
	ca *CA
}

// Start implements webhook.Server. It also runs the CA until the server stops.
func (s *server) Start(ctx context.Context) error {
	announcing, stop := context.WithCancel(ctx)
	announced := make(chan error, 1) // sent once, by the goroutine
	go func() { announced <- s.ca.Start(announcing) }()
	err := s.DefaultServer.Start(ctx)
	stop()
	return errors.Join(err, <-announced)
}

// StartedChecker implements webhook.Server.
func (s *server) StartedChecker() healthz.Checker {
	serving := s.DefaultServer.StartedChecker()
	return func(request *http.Request) error {
		return errors.Join(serving(request), s.ca.Announced())
	}
}

// Announced returns nil if all configurations have the CA's certificate, and otherwise an error
// with the reason.
func (c *CA) Announced() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.announcedLocked()
}

func (c *CA) announcedLocked() error {
	bundle, errs := c.generation.bundle(), []error(nil)
	for _, t := range c.targets {
		switch has := c.announced[t]; {
		case has.err != nil:
			errs = append(errs, has.err)
		case !bytes.Equal(has.bundle, bundle):
			errs = append(errs, fmt.Errorf("%s does not have the CA's certificate yet", t))
		}
	}
	return errors.Join(errs...)
}
