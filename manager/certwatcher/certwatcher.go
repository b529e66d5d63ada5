// Package certwatcher keeps a server's certificate up to date while the server runs.
//
// The files of a certificate and its key change when somebody renews them. The watcher reads them
// again, and hands the new pair to each TLS handshake from then on, by GetCertificate.
//
// Neighbours: below it are fsnotify and crypto/tls. Above it are the metrics server and the webhook
// server.
package certwatcher

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/certwatcher/metrics"
	"github.com/loopwright/loopwright/manager/log"
)

const (
	defaultWatchInterval = 10 * time.Second
	// settle is how long files must be left alone before they are read. Whoever writes them writes
	// two, and each in several steps.
	settle = 100 * time.Millisecond
)

// CertWatcher holds the newest valid pair of a certificate and a key.
//
// Guarantees: a pair that does not fit together, or a file that ends in the middle of a block, is never
// served; the last good pair is, and an error is logged. Any change of the files is noticed after the
// interval at the latest, however they are written: in place, by renaming, or through Kubernetes' links
// to a mounted Secret. Usually it is noticed at once.
//
// Unlike controller-runtime's, it notices when only the chain changed, and goes on with the interval
// alone if the system cannot watch files.
type CertWatcher struct {
	certPath, keyPath string
	interval          time.Duration
	log               logr.Logger
	notify            notifier

	reading sync.Mutex // one read at a time, so that an older one does not win; guards no field

	mu       sync.RWMutex // guards the following
	current  *tls.Certificate
	certPEM  []byte // what current was made of; only one key fits it
	callback func(tls.Certificate)
}

// New reads the certificate and its key. It fails if there is no valid pair yet; os.IsNotExist says whether a file is
// missing.
func New(certPath, keyPath string) (*CertWatcher, error) {
	cw := &CertWatcher{
		certPath: certPath, keyPath: keyPath,
		interval: defaultWatchInterval,
		log:      log.RuntimeLog.WithName("certwatcher").WithValues("cert", certPath, "key", keyPath),
		notify:   notifyOfFiles,
	}
	if err := cw.ReadCertificate(); err != nil {
		return nil, err
	}
	return cw, nil
}

// WithWatchInterval sets how often the files are read even if nothing seems to have changed; the default
// is 10 seconds. Call it before Start.
func (cw *CertWatcher) WithWatchInterval(interval time.Duration) *CertWatcher {
	cw.interval = interval
	return cw
}

// GetCertificate returns the newest pair. It is meant for tls.Config.GetCertificate.
func (cw *CertWatcher) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	cw.mu.RLock()
	defer cw.mu.RUnlock()
	return cw.current, nil
}

// RegisterCallback has a function called with the present pair, and with each new one. There is one
// callback; the last one registered counts. The next read waits until it returns.
func (cw *CertWatcher) RegisterCallback(callback func(tls.Certificate)) {
	cw.mu.Lock()
	cw.callback = callback
	cw.mu.Unlock()
	cw.tell()
}

// tell calls the callback, without a lock. Another goroutine may have called it with a newer pair in
// between; the last call must be with the newest.
func (cw *CertWatcher) tell() {
	for told := (*tls.Certificate)(nil); ; {
		cw.mu.RLock()
		present, callback := cw.current, cw.callback
		cw.mu.RUnlock()
		if callback == nil || present == told {
			return
		}
		callback(*present)
		told = present
	}
}

// NeedLeaderElection says that all replicas watch their certificates.
func (cw *CertWatcher) NeedLeaderElection() bool { return false }

// Start reads the files whenever they change, until the context ends. It returns nil then.
func (cw *CertWatcher) Start(ctx context.Context) error {
	interval := cw.interval
	if interval <= 0 {
		interval = defaultWatchInterval
	}
	cw.log.Info("Watching the certificate", "interval", interval)
	changes, stop := cw.notify(cw)
	defer stop()
	// What changed between New and the start of the watch is not announced.
	cw.read()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	quiet := time.NewTimer(settle)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
			quiet.Reset(settle)
		case <-quiet.C:
			cw.read()
		case <-ticker.C:
			cw.read()
		}
	}
}

func (cw *CertWatcher) read() {
	if err := cw.ReadCertificate(); err != nil {
		cw.log.Error(err, "The certificate could not be read; the last one stays in use")
	}
}

// ReadCertificate reads the files, and calls the callback if they have changed. When it fails, the last
// good pair stays in use.
func (cw *CertWatcher) ReadCertificate() error {
	changed, err := cw.reload()
	if err != nil {
		metrics.ReadCertificateErrors.Inc()
		return err
	}
	if changed {
		cw.tell()
	}
	return nil
}

func (cw *CertWatcher) reload() (changed bool, err error) {
	cw.reading.Lock()
	defer cw.reading.Unlock()
	metrics.ReadCertificateTotal.Inc()
	certPEM, err := readPEM(cw.certPath)
	if err != nil {
		return false, err
	}
	keyPEM, err := readPEM(cw.keyPath)
	if err != nil {
		return false, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return false, fmt.Errorf("load the certificate %s with the key %s: %w", cw.certPath, cw.keyPath, err)
	}
	cw.mu.Lock()
	defer cw.mu.Unlock()
	if bytes.Equal(cw.certPEM, certPEM) {
		return false, nil
	}
	if cw.current != nil {
		cw.log.Info("The certificate has changed")
	}
	cw.current, cw.certPEM = &pair, certPEM
	return true, nil
}

// readPEM refuses a file whose end is missing. crypto/tls would take the blocks that are there, and
// serve a chain that clients do not trust.
func readPEM(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(content)
	for block != nil {
		block, rest = pem.Decode(rest)
	}
	if bytes.Contains(rest, []byte("-----BEGIN")) {
		return nil, fmt.Errorf("%s ends in the middle of a PEM block: somebody is writing it, or it is damaged", path)
	}
	return content, nil
}

// notifier returns a channel on which something arrives when the files may have changed, and a function
// that ends it. A nil channel means that only the interval is left.
type notifier func(cw *CertWatcher) (changes <-chan struct{}, stop func())

// notifyOfFiles watches the directories of the files, not the files: a file that is replaced is another
// file, but its directory remains. A mounted Secret's files are links to links, and Kubernetes replaces
// one in the middle, next to the first ones.
func notifyOfFiles(cw *CertWatcher) (<-chan struct{}, func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		cw.log.Error(err, "The system cannot watch files; the certificate is read at intervals only")
		return nil, func() {}
	}
	cw.watchDirectories(watcher)
	// Room for one: it says that something changed, not how often. Sent and closed by the goroutine
	// below, received by Start.
	changes, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		cw.forward(watcher, changes)
	}()
	return changes, func() {
		if err := watcher.Close(); err != nil {
			cw.log.Error(err, "The file watch could not be closed")
		}
		<-done
	}
}

// forward ends when the watcher is closed.
func (cw *CertWatcher) forward(watcher *fsnotify.Watcher, changes chan<- struct{}) {
	for {
		select {
		case event, ok := <-watcher.Events:
			if !ok {
				return
			}
			if event.Op == fsnotify.Chmod {
				continue // no change of what is in a file
			}
			// A link may lead to another directory now, and a directory may have been replaced.
			cw.watchDirectories(watcher)
		case err, ok := <-watcher.Errors:
			if !ok {
				return
			}
			// Events may have been lost, so that it counts as one.
			cw.log.Error(err, "Watching the certificate's files")
		}
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// watchDirectories watches where the files are, and where links lead. Watching twice is watching once.
func (cw *CertWatcher) watchDirectories(watcher *fsnotify.Watcher) {
	for _, path := range []string{cw.certPath, cw.keyPath} {
		directories := []string{filepath.Dir(path)}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			directories = append(directories, filepath.Dir(target))
		}
		for _, directory := range directories {
			if err := watcher.Add(directory); err != nil {
				cw.log.V(1).Info("A directory cannot be watched; its files are read at intervals only", "directory", directory, "error", err)
			}
		}
	}
}
