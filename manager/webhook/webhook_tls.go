package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/certwatcher"
)

// certificates has the newest certificate. A certwatcher.CertWatcher is one.
type certificates interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Start reads new ones until the context ends.
	Start(ctx context.Context) error
}

// tlsConfig returns how to serve, and the certificates to watch, or nil if the options bring their own.
func tlsConfig(options Options, logger logr.Logger) (*tls.Config, certificates, error) {
	config := &tls.Config{NextProtos: []string{"h2"}}
	for _, change := range options.TLSOpts {
		change(config)
	}
	var watched certificates
	if config.GetCertificate == nil {
		certPath, keyPath := filepath.Join(options.CertDir, options.CertName), filepath.Join(options.CertDir, options.KeyName)
		watcher, err := certwatcher.New(certPath, keyPath)
		if err != nil {
			logger.Error(err, "The certificate to serve webhooks with cannot be read: put it and its key where they are looked for, or set CertDir; "+
				"for development, package devca makes both", "cert", certPath, "key", keyPath)
			return nil, nil, err // as it is: os.IsNotExist does not look into an error that is wrapped
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
			return nil, nil, fmt.Errorf("%s has no certificates in PEM form, so no client could be let in", path)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, watched, nil
}
