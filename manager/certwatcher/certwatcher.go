// Package certwatcher keeps a server's certificate up to date while the server runs.
//
// The files of a certificate and its key change when the certificate is renewed. The watcher then
// reads them again, and GetCertificate returns the new pair to each later TLS handshake.
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
	// settle is how long no change must have been reported before the files are read because of
	// one: a renewal writes two files, and each of them in several steps. A read at the interval
	// doesn't wait. If it meets a half-written pair, the read after the last change makes up for it.
	settle = 100 * time.Millisecond
)

// CertWatcher holds the newest valid pair of a certificate and a key.
//
// Guarantees: it never serves a key that doesn't fit its certificate, or a file that ends in the
// middle of a block; it logs an error and goes on serving the last good pair. It notices any change
// of the files after the interval at the latest, usually at once, however they are written: in
// place, by renaming, or through Kubernetes' links to a mounted Secret.
//
// Unlike controller-runtime's, it notices a change of the chain alone, and if the system can't
// watch files, it goes on reading them at the interval.
type CertWatcher struct {
	certPath, keyPath string
	interval          time.Duration
	log               logr.Logger
	notify            notifier

	reading sync.Mutex // one read at a time, so that an older one doesn't win; guards no field

	mu       sync.RWMutex // guards the following
	current  *tls.Certificate
	certPEM  []byte // the file that current came from; only one key fits it
	callback func(tls.Certificate)
}

// New reads the certificate and its key. It fails if there's no valid pair yet. If a file is
// missing, os.IsNotExist and errors.Is with fs.ErrNotExist say so.
func New(certPath, keyPath string) (*CertWatcher, error) {
	cw := &CertWatcher{
		certPath: certPath, keyPath: keyPath,
		interval: defaultWatchInterval,
		log: log.RuntimeLog.WithName("certwatcher").
			WithValues("cert", certPath, "key", keyPath),
		notify: notifyOfFiles,
	}
	if err := cw.ReadCertificate(); err != nil {
		return nil, err
	}
	return cw, nil
}

// WithWatchInterval sets how often the files are read even if no change was reported; the default
// is 10 seconds. Call it before Start.
func (cw *CertWatcher) WithWatchInterval(interval time.Duration) *CertWatcher {
	cw.interval = interval
	return cw
}

// GetCertificate returns the newest pair. Use it as tls.Config.GetCertificate.
func (cw *CertWatcher) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	cw.mu.RLock()
	defer cw.mu.RUnlock()
	return cw.current, nil
}

// RegisterCallback calls a function with the current pair, and then with each new one. There's one
// callback: each call of RegisterCallback replaces the last. Start waits until it returns before it
// reads again. If you call ReadCertificate yourself, the callback may be called by both at a time.
func (cw *CertWatcher) RegisterCallback(callback func(tls.Certificate)) {
	cw.mu.Lock()
	cw.callback = callback
	cw.mu.Unlock()
	cw.tell()
}

// tell calls the callback, without a lock. If another goroutine has called it with a newer pair
// meanwhile, tell calls it again: the last call must be with the newest pair.
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

// NeedLeaderElection returns false: all replicas watch their certificates.
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
	// The watch reports no change that was made between New and here.
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

// ReadCertificate reads the files, and calls the callback if they have changed. When it fails, the
// last good pair stays in use.
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
		return false, fmt.Errorf("load the certificate %s with the key %s: %w",
			cw.certPath, cw.keyPath, err)
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

var beginsBlock = []byte("-----BEGIN")

// readPEM refuses a file that ends in the middle of a block. crypto/tls would accept the blocks
// before it, and serve a chain that clients don't trust.
func readPEM(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(content)
	for block != nil {
		block, rest = pem.Decode(rest)
	}
	// The file may even end within the line that begins a block.
	last := rest[bytes.LastIndexByte(rest, '\n')+1:]
	if bytes.Contains(rest, beginsBlock) || len(last) > 0 && bytes.HasPrefix(beginsBlock, last) {
		return nil, fmt.Errorf(
			"%s ends in the middle of a PEM block: it is being written, or damaged", path)
	}
	return content, nil
}

// notifier returns a channel that receives when the files may have changed, and a function that
// stops it. If the channel is nil, Start reads the files at the interval only.
type notifier func(cw *CertWatcher) (changes <-chan struct{}, stop func())

// notifyOfFiles watches the directories of the files, not the files: a file that is replaced is
// another file, but its directory remains. The files of a mounted Secret are links to links, and
// Kubernetes replaces a link in the middle, which is in the same directory as the first.
func notifyOfFiles(cw *CertWatcher) (<-chan struct{}, func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		cw.log.Error(err,
			"The system cannot watch files; the certificate is read at intervals only")
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
				continue // the files' content is the same
			}
			// A link may lead to another directory now, or a directory may have been replaced.
			cw.watchDirectories(watcher)
		case err, ok := <-watcher.Errors:
			if !ok {
				return
			}
			// Events may have been lost, so this counts as a change.
			cw.log.Error(err, "Watching the certificate's files")
		}
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// watchDirectories watches the directories of the files, and those that links lead to. Watching a
// directory twice has no effect.
func (cw *CertWatcher) watchDirectories(watcher *fsnotify.Watcher) {
	for _, path := range []string{cw.certPath, cw.keyPath} {
		directories := []string{filepath.Dir(path)}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			directories = append(directories, filepath.Dir(target))
		}
		for _, directory := range directories {
			if err := watcher.Add(directory); err != nil {
				cw.log.V(1).Info(
					"A directory cannot be watched; its files are read at intervals only",
					"directory", directory, "error", err)
			}
		}
	}
}
