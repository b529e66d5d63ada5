package envtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/loopwright/loopwright/internal/pki"
)

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
