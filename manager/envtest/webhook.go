package envtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/pki"
	"github.com/loopwright/loopwright/manager/client"
)

// WebhookInstallOptions say which webhook configurations to install, and where the test serves the
// webhooks. An Environment fills in the Local fields; a suite gives them to its webhook server:
//
//	webhook.Options{Host: o.LocalServingHost, Port: o.LocalServingPort, CertDir: o.LocalServingCertDir}
type WebhookInstallOptions struct {
	// Paths are files, and directories with files, of YAML or JSON. Objects of other kinds are
	// skipped.
	Paths []string
	// MutatingWebhooks and ValidatingWebhooks are installed in addition.
	MutatingWebhooks   []*admissionv1.MutatingWebhookConfiguration
	ValidatingWebhooks []*admissionv1.ValidatingWebhookConfiguration

	// IgnoreSchemeConvertible gives every CRD a conversion webhook, whether or not its kind is
	// in the scheme with a Hub.
	IgnoreSchemeConvertible bool
	// IgnoreErrorIfPathMissing skips a path that does not exist. Otherwise it is an error.
	IgnoreErrorIfPathMissing bool

	// LocalServingHost is the address to serve at; the default is 127.0.0.1. LocalServingPort is
	// the port; the default is a free one.
	LocalServingHost string
	LocalServingPort int
	// LocalServingCertDir has the certificate to serve with, in tls.crt and tls.key.
	LocalServingCertDir string
	// LocalServingCAData is the CA that vouches for it.
	LocalServingCAData []byte
	// LocalServingHostExternalName is what the API server calls the host, if not LocalServingHost.
	LocalServingHostExternalName string

	// MaxTime is how long installed webhooks may take to be there. The default is 10 seconds.
	MaxTime time.Duration
	// PollInterval is how often to look. The default is 100 milliseconds.
	PollInterval time.Duration

	// madeDir is the LocalServingCertDir that was made here, and is to be removed.
	madeDir string
}

// PrepWithoutInstalling chooses a port, makes a certificate, reads the files of Paths and directs the
// webhooks to the port.
func (o *WebhookInstallOptions) PrepWithoutInstalling() error {
	if _, err := o.hostPort(); err != nil { // the certificate is for the host
		return err
	}
	if err := o.makeCertificate(); err != nil {
		return err
	}
	if err := o.readWebhookFiles(); err != nil {
		return err
	}
	return o.ModifyWebhookDefinitions()
}

// ModifyWebhookDefinitions directs the webhooks that are Services to the local port, and has the API
// server trust the local certificate there. A webhook with a URL and a CA of its own is left alone.
func (o *WebhookInstallOptions) ModifyWebhookDefinitions() error {
	hostPort, err := o.hostPort()
	if err != nil {
		return err
	}
	for _, configuration := range o.MutatingWebhooks {
		for i := range configuration.Webhooks {
			o.direct(&configuration.Webhooks[i].ClientConfig, hostPort)
		}
	}
	for _, configuration := range o.ValidatingWebhooks {
		for i := range configuration.Webhooks {
			o.direct(&configuration.Webhooks[i].ClientConfig, hostPort)
		}
	}
	return nil
}

func (o *WebhookInstallOptions) direct(to *admissionv1.WebhookClientConfig, hostPort string) {
	if to.Service == nil {
		if len(to.CABundle) == 0 {
			to.CABundle = o.LocalServingCAData
		}
		return
	}
	path := ""
	if to.Service.Path != nil {
		path = strings.TrimPrefix(*to.Service.Path, "/")
	}
	url := "https://" + hostPort + "/" + path
	to.URL, to.Service, to.CABundle = &url, nil, o.LocalServingCAData
}

// Install installs the webhook configurations, and waits until they are there. One that is there
// already is updated.
func (o *WebhookInstallOptions) Install(config *rest.Config) error {
	if len(o.LocalServingCAData) == 0 {
		if err := o.PrepWithoutInstalling(); err != nil {
			return err
		}
	}
	c, err := newClient(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	for _, object := range webhookObjects(o.MutatingWebhooks, o.ValidatingWebhooks) {
		if err := put(ctx, c, object); err != nil {
			return fmt.Errorf("installing the webhooks %s: %w", object.GetName(), err)
		}
	}
	return WaitForWebhooks(config, o.MutatingWebhooks, o.ValidatingWebhooks, *o)
}

// WaitForWebhooks waits until the API server has all the configurations.
func WaitForWebhooks(
	config *rest.Config,
	mutatingWebhooks []*admissionv1.MutatingWebhookConfiguration,
	validatingWebhooks []*admissionv1.ValidatingWebhookConfiguration,
	options WebhookInstallOptions,
) error {
	c, err := newClient(config)
	if err != nil {
		return err
	}
	max, interval := waitsOrDefault(options.MaxTime, options.PollInterval)
	for _, object := range webhookObjects(mutatingWebhooks, validatingWebhooks) {
		what := "waiting for the webhooks " + object.GetName()
		err := poll(context.Background(), interval, max, what, func(ctx context.Context) error {
			return c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopyObject().(client.Object))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func webhookObjects(mutating []*admissionv1.MutatingWebhookConfiguration, validating []*admissionv1.ValidatingWebhookConfiguration) []client.Object {
	var objects []client.Object
	for _, configuration := range mutating {
		objects = append(objects, configuration)
	}
	for _, configuration := range validating {
		objects = append(objects, configuration)
	}
	return objects
}

// Cleanup removes the certificate.
func (o *WebhookInstallOptions) Cleanup() error {
	if o.madeDir == "" {
		return nil
	}
	if err := os.RemoveAll(o.madeDir); err != nil {
		return fmt.Errorf("removing the webhooks' certificate: %w", err)
	}
	o.madeDir, o.LocalServingCertDir, o.LocalServingCAData = "", "", nil
	return nil
}

const defaultHost = "127.0.0.1"

// hostPort returns where the API server finds the webhooks. It chooses a port if there is none.
func (o *WebhookInstallOptions) hostPort() (string, error) {
	if o.LocalServingHost == "" {
		o.LocalServingHost = defaultHost
	}
	if o.LocalServingPort == 0 {
		var err error
		if o.LocalServingPort, err = reservePort(o.LocalServingHost); err != nil {
			return "", fmt.Errorf("choosing a port to serve webhooks on: %w", err)
		}
	}
	host := o.LocalServingHostExternalName
	if host == "" {
		host = o.LocalServingHost
	}
	return net.JoinHostPort(host, strconv.Itoa(o.LocalServingPort)), nil
}

// reservePort returns a port that nobody else gets by chance for the next minute, while whoever names
// it can listen on it: tests run beside each other, and each tells its API server the port before it
// listens. A connection is opened and closed, first at the listener's end. The kernel remembers it
// there for a minute (TIME_WAIT), and does not give out such a port as a free one.
func reservePort(host string) (port int, err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	there, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return 0, err
	}
	defer func() { _ = there.Close() }()
	here, err := listener.Accept()
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, here.Close()
}

// makeCertificate writes a new certificate to a new directory.
func (o *WebhookInstallOptions) makeCertificate() error {
	ca, err := pki.NewCA("loopwright-envtest-webhooks")
	if err != nil {
		return err
	}
	hosts := slices.DeleteFunc([]string{"localhost", o.LocalServingHost, o.LocalServingHostExternalName}, func(host string) bool { return host == "" })
	pair, err := ca.Server("webhooks", hosts...)
	if err != nil {
		return err
	}
	if err := o.Cleanup(); err != nil { // of a time before
		return err
	}
	if o.LocalServingCertDir, err = os.MkdirTemp("", "loopwright-envtest-webhooks-"); err != nil {
		return fmt.Errorf("making a directory for the webhooks' certificate: %w: set TMPDIR to a directory that you can write to", err)
	}
	o.madeDir = o.LocalServingCertDir
	err = errors.Join(
		os.WriteFile(filepath.Join(o.LocalServingCertDir, "tls.crt"), pair.CertPEM, 0o600),
		os.WriteFile(filepath.Join(o.LocalServingCertDir, "tls.key"), pair.KeyPEM, 0o600))
	if err != nil {
		return fmt.Errorf("writing the webhooks' certificate: %w", err)
	}
	o.LocalServingCAData = ca.CertPEM
	return nil
}
