// Package webhook serves webhooks, which the API server calls before it stores an object.
//
// A manager runs a Server, which serves the handlers that were registered with it. A program may
// provide its own Server.
//
// Neighbours: below it are the health checks. Above it is the manager, which starts a Server before
// any cache.
package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"

	"github.com/loopwright/loopwright/manager/certwatcher"
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/webhook/admission"
)

// Server serves webhooks.
type Server interface {
	// NeedLeaderElection returns false: each replica serves webhooks.
	NeedLeaderElection() bool
	// Register serves a path. It panics if the path is served already.
	Register(path string, hook http.Handler)
	// Start serves until the context ends.
	Start(ctx context.Context) error
	// StartedChecker returns a health check that fails until the server answers.
	StartedChecker() healthz.Checker
	// WebhookMux has the handlers that were registered.
	WebhookMux() *http.ServeMux
}

// These are package admission's, for programs that import this package alone.
type (
	// CustomDefaulter fills in what a user left out. Newer programs use admission.Defaulter.
	CustomDefaulter = admission.CustomDefaulter
	// CustomValidator decides whether an object may be stored. Newer programs use
	// admission.Validator.
	CustomValidator = admission.CustomValidator
	// AdmissionRequest is the API server's question.
	AdmissionRequest = admission.Request
	// AdmissionResponse is the answer.
	AdmissionResponse = admission.Response
	// Admission serves a handler.
	Admission = admission.Webhook
	// AdmissionHandler answers a request.
	AdmissionHandler = admission.Handler
	// AdmissionDecoder makes Go objects from a request.
	AdmissionDecoder = admission.Decoder
	// JSONPatchOp is an operation of a JSON patch.
	JSONPatchOp = jsonpatch.Operation
)

// The answers of package admission.
var (
	// Allowed allows the request.
	Allowed = admission.Allowed
	// Denied refuses the request.
	Denied = admission.Denied
	// Patched allows the request, with changes to the object.
	Patched = admission.Patched
	// Errored refuses the request because the webhook failed.
	Errored = admission.Errored
)

// DefaultPort is the port of servers whose options name none.
var DefaultPort = 9443

// Options are the options of a server.
type Options struct {
	// Host is the address to listen on. The default is all addresses.
	Host string

	// Port is the port to listen on. The default is DefaultPort. A server with port -1 is switched
	// off.
	Port int

	// Listener replaces Host and Port: the server adds TLS to it, and closes it. controller-runtime
	// has no such option; with it, the kernel can choose the port.
	Listener net.Listener

	// CertDir is the directory of the server's certificate and key. The default is
	// k8s-webhook-server/serving-certs in the directory for temporary files; a program that runs in
	// a cluster names the directory where its Secret is mounted.
	CertDir string

	// CertName and KeyName are the files in CertDir. The defaults are tls.crt and tls.key. They are
	// not read if TLSOpts set GetCertificate.
	CertName string
	KeyName  string

	// ClientCAName is a file in CertDir with CA certificates for clients. With it, a client needs a
	// certificate signed by one of them. By default, clients need none.
	ClientCAName string

	// TLSOpts may change the TLS configuration. They may provide certificates with GetCertificate.
	TLSOpts []func(*tls.Config)

	// MaxRequestBytes bounds the body of a request, which anybody who reaches the port may send. The
	// default is 128 MiB. Package admission takes 7 MiB at most, so what counts is /convert, where
	// the API server sends all objects of a list in one request: raise the limit if yours are
	// larger. A conversion may need eight times the body's size in memory. -1 means no limit.
	MaxRequestBytes int64

	// WebhookMux has the handlers. The default is a mux of the server's own.
	WebhookMux *http.ServeMux
}

// withDefaults fills in the defaults.
func (o Options) withDefaults() Options {
	o.Port = cmp.Or(o.Port, DefaultPort)
	standard := filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
	o.CertDir = cmp.Or(o.CertDir, standard)
	o.CertName = cmp.Or(o.CertName, "tls.crt")
	o.KeyName = cmp.Or(o.KeyName, "tls.key")
	o.MaxRequestBytes = cmp.Or(o.MaxRequestBytes, 128<<20)
	if o.WebhookMux == nil {
		o.WebhookMux = http.NewServeMux()
	}
	return o
}

func (o Options) disabled() bool { return o.Port < 0 && o.Listener == nil }

// certificates has the newest certificate. A certwatcher.CertWatcher is one.
type certificates interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Start reads new ones until the context ends.
	Start(ctx context.Context) error
}

// tlsConfig returns the TLS configuration, and the certificates to watch, or nil if the options
// bring their own.
func tlsConfig(options Options, logger logr.Logger) (*tls.Config, certificates, error) {
	config := &tls.Config{NextProtos: []string{"h2"}}
	for _, change := range options.TLSOpts {
		change(config)
	}
	var watched certificates
	if config.GetCertificate == nil {
		certPath := filepath.Join(options.CertDir, options.CertName)
		keyPath := filepath.Join(options.CertDir, options.KeyName)
		watcher, err := certwatcher.New(certPath, keyPath)
		if err != nil {
			logger.Error(err, "The certificate to serve webhooks with cannot be read: "+
				"put the certificate and its key there, or set CertDir; "+
				"for development, package devca makes both", "cert", certPath, "key", keyPath)
			return nil, nil, err // not wrapped: os.IsNotExist doesn't unwrap errors
		}
		watched, config.GetCertificate = watcher, watcher.GetCertificate
	}
	if options.ClientCAName != "" {
		path := filepath.Join(options.CertDir, options.ClientCAName)
		clientCAs, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the CA of clients' certificates: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(clientCAs) {
			return nil, nil, fmt.Errorf("%s has no certificates in PEM form, so every client "+
				"would be refused", path)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, watched, nil
}
