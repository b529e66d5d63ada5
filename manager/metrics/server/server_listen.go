package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	certutil "k8s.io/client-go/util/cert"

	"github.com/loopwright/loopwright/manager/certwatcher"
)

func (o Options) withDefaults() Options {
	if o.BindAddress == "" {
		o.BindAddress = DefaultBindAddress
	}
	if o.CertDir == "" {
		o.CertDir = filepath.Join(os.TempDir(), "k8s-metrics-server", "serving-certs")
	}
	if o.CertName == "" {
		o.CertName = "tls.crt"
	}
	if o.KeyName == "" {
		o.KeyName = "tls.key"
	}
	return o
}

// listen opens the port. A goroutine that it starts is in own, and ends with the context.
func (s *server) listen(ctx context.Context, log logr.Logger, own *sync.WaitGroup) (net.Listener, error) {
	var config *tls.Config
	if s.options.SecureServing {
		var err error
		if config, err = s.tlsConfig(ctx, log, own); err != nil {
			return nil, err
		}
	}
	listener, err := s.options.ListenConfig.Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("%w; metrics.Options.BindAddress chooses another address, and \"0\" serves none", err)
	}
	if config == nil {
		return listener, nil
	}
	return tls.NewListener(listener, config), nil
}

// tlsConfig takes the certificate from the user's options, from files, or makes one.
func (s *server) tlsConfig(ctx context.Context, log logr.Logger, own *sync.WaitGroup) (*tls.Config, error) {
	config := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	for _, change := range s.options.TLSOpts {
		change(config)
	}
	if config.GetCertificate != nil || len(config.Certificates) > 0 || config.GetConfigForClient != nil {
		return config, nil
	}
	cert, key := filepath.Join(s.options.CertDir, s.options.CertName), filepath.Join(s.options.CertDir, s.options.KeyName)
	if !exists(cert) || !exists(key) {
		log.Info("There is no certificate for metrics, so the server signs one for itself", "cert", cert, "key", key)
		own, err := selfSigned()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
		return config, nil
	}
	watcher, err := certwatcher.New(cert, key)
	if err != nil {
		return nil, err
	}
	config.GetCertificate = watcher.GetCertificate
	own.Go(func() {
		if err := watcher.Start(ctx); err != nil {
			log.Error(err, "The metrics server's certificate is no longer watched")
		}
	})
	return config, nil
}

// exists is true for a file that is there but cannot be read: that is an error to report, and not a
// reason to sign a certificate.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !os.IsNotExist(err)
}

// selfSigned makes a certificate that encrypts, and proves nothing.
func selfSigned() (tls.Certificate, error) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.X509KeyPair(cert, key)
}
