package certwatcher

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

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
