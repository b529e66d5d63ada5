package certwatcher_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/loopwright/loopwright/manager/certwatcher"
)

func Example() {
	serve := func(ctx context.Context) error {
		watcher, err := certwatcher.New("/certs/tls.crt", "/certs/tls.key")
		if err != nil {
			return err
		}
		go func() { _ = watcher.Start(ctx) }() // a manager does this: mgr.Add(watcher)
		server := &http.Server{
			Addr: "127.0.0.1:9443",
			TLSConfig: &tls.Config{
				GetCertificate: watcher.GetCertificate, MinVersion: tls.VersionTLS12,
			},
			ReadHeaderTimeout: 10 * time.Second,
		}
		return server.ListenAndServeTLS("", "")
	}
	_ = serve
}
