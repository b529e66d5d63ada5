package envtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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
// webhooks. An Environment fills in the Local fields; a suite passes them to its webhook server:
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
	// IgnoreErrorIfPathMissing skips a path that doesn't exist. Otherwise it's an error.
	IgnoreErrorIfPathMissing bool

	// LocalServingHost is the address to listen on; the default is 127.0.0.1. LocalServingPort is
	// the port; the default is a free one.
	LocalServingHost string
	LocalServingPort int
	// LocalServingCertDir has the server's certificate and key, in tls.crt and tls.key.
	LocalServingCertDir string
	// LocalServingCAData is the certificate of the CA that signed it.
	LocalServingCAData []byte
	// LocalServingHostExternalName is the host that the API server connects to, if not
	// LocalServingHost.
	LocalServingHostExternalName string

	// MaxTime is how long the configurations may take to appear. The default is 10 seconds.
	MaxTime time.Duration
	// PollInterval is the pause between two checks. The default is 100 milliseconds.
	PollInterval time.Duration

	// madeDir is the LocalServingCertDir if PrepWithoutInstalling made it; Cleanup removes it.
	madeDir string
}

// PrepWithoutInstalling chooses a port, makes a certificate, reads the files of Paths and points
// the webhooks to the port.
func (o *WebhookInstallOptions) PrepWithoutInstalling() error {
	if _, err := o.hostPort(); err != nil { // the certificate is for this host
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

// ModifyWebhookDefinitions points the webhooks that name a Service to the local port, with the CA
// of the local certificate. It doesn't change a webhook that has a URL and a CA already.
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

// Install installs the webhook configurations, and waits until they exist. It updates a
// configuration that exists already.
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
			return c.Get(ctx, client.ObjectKeyFromObject(object),
				object.DeepCopyObject().(client.Object))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func webhookObjects(
	mutating []*admissionv1.MutatingWebhookConfiguration,
	validating []*admissionv1.ValidatingWebhookConfiguration,
) []client.Object {
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

// hostPort returns the address of the webhooks for the API server. It chooses a port if there is
// none.
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

// reservePort returns a port that other processes don't get as a free port for the next minute,
// although this one can listen on it: tests run beside each other, and each tells its API server
// the port before it listens. It opens a connection and closes it, the listener's end first. The
// kernel keeps that end in TIME_WAIT for a minute, and doesn't hand out such a port as a free one.
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
	hosts := []string{"localhost", o.LocalServingHost, o.LocalServingHostExternalName}
	hosts = slices.DeleteFunc(hosts, func(host string) bool { return host == "" })
	pair, err := ca.Server("webhooks", hosts...)
	if err != nil {
		return err
	}
	if err := o.Cleanup(); err != nil { // from an earlier call
		return err
	}
	if o.LocalServingCertDir, err = os.MkdirTemp("", "loopwright-envtest-webhooks-"); err != nil {
		return fmt.Errorf("making a directory for the webhooks' certificate: %w: set TMPDIR to "+
			"a directory that you can write to", err)
	}
	o.madeDir = o.LocalServingCertDir
	if err := pair.Write(o.LocalServingCertDir); err != nil {
		return err
	}
	o.LocalServingCAData = ca.CertPEM
	return nil
}
