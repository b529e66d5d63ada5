package webhook

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// DefaultPort is the port of servers whose options name none.
var DefaultPort = 9443

// Options are the options of a server.
type Options struct {
	// Host is the address to listen on. The default is all addresses.
	Host string

	// Port is the port to listen on. The default is DefaultPort. A server with port -1 is switched off.
	Port int

	// Listener takes the place of Host and Port: the server adds TLS to it, and closes it. controller-runtime
	// has no such option; with it, the kernel can choose the port.
	Listener net.Listener

	// CertDir is the directory of the server's certificate and key. The default is k8s-webhook-server/serving-certs
	// in the directory for temporary files; a program that runs in a cluster names the directory where its
	// Secret is mounted.
	CertDir string

	// CertName and KeyName are the files in CertDir. The defaults are tls.crt and tls.key. They are not
	// read if TLSOpts set GetCertificate.
	CertName string
	KeyName  string

	// ClientCAName is a file in CertDir with the certificates of those who sign clients' certificates. With
	// it, a client needs such a certificate. By default, clients are not asked.
	ClientCAName string

	// TLSOpts may change the TLS configuration. They may provide certificates with GetCertificate.
	TLSOpts []func(*tls.Config)

	// WebhookMux has the handlers. The default is one of the server's own.
	WebhookMux *http.ServeMux
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	o.Port = cmp.Or(o.Port, DefaultPort)
	o.CertDir = cmp.Or(o.CertDir, filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs"))
	o.CertName = cmp.Or(o.CertName, "tls.crt")
	o.KeyName = cmp.Or(o.KeyName, "tls.key")
	if o.WebhookMux == nil {
		o.WebhookMux = http.NewServeMux()
	}
	return o
}

func (o Options) disabled() bool { return o.Port < 0 && o.Listener == nil }
