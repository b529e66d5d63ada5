package certwatcher

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// These tests use the system's own notices, so they run outside of a bubble, and wait without a
// limit of their own. The interval is an hour: what they wait for comes from a notice, or never.
func watched(t *testing.T, certPath, keyPath string) <-chan string {
	t.Helper()
	cw, err := New(certPath, keyPath)
	require.NoError(t, err)
	told := make(chan string, 100)
	cw.RegisterCallback(func(c tls.Certificate) { told <- c.Leaf.Subject.CommonName })
	require.Equal(t, "old", <-told)
	ctx, cancel := context.WithCancel(t.Context())
	ended, started := make(chan error, 1), make(chan struct{})
	cw.notify = func(cw *CertWatcher) (<-chan struct{}, func()) {
		defer close(started)
		return notifyOfFiles(cw)
	}
	go func() { ended <- cw.WithWatchInterval(time.Hour).Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	<-started
	return told
}

func TestEveryWayOfWritingFilesIsNoticed(t *testing.T) {
	for name, replace := range inorder.Map(map[string]func(f files, p pair){
		"in place": func(f files, p pair) { f.write(p) },
		"by renaming": func(f files, p pair) {
			tmp := files{f.T, f.T.TempDir()}
			tmp.write(p)
			require.NoError(f, os.Rename(tmp.key(), f.key()))
			require.NoError(f, os.Rename(tmp.cert(), f.cert()))
		},
		"by removing and creating": func(f files, p pair) {
			require.NoError(f, os.Remove(f.cert()))
			require.NoError(f, os.Remove(f.key()))
			f.write(p)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			f := inFiles(t, fresh(t, "old"))
			told := watched(t, f.cert(), f.key())
			for _, host := range []string{"new", "newer"} {
				replace(f, fresh(t, host))
				require.Equal(t, host, <-told)
			}
		})
	}
}

// A mounted Secret: tls.crt -> ..data/tls.crt, and ..data -> a directory with the time in its name.
func TestASecretsFilesAreNoticed(t *testing.T) {
	mount := t.TempDir()
	publish := func(generation, host string) {
		dir := filepath.Join(mount, generation)
		require.NoError(t, os.Mkdir(dir, 0o700))
		files{t, dir}.write(fresh(t, host))
		require.NoError(t, os.Symlink(generation, filepath.Join(mount, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(mount, "..data_tmp"),
			filepath.Join(mount, "..data")))
	}
	publish("..1", "old")
	outside := files{t, mount}
	require.NoError(t, os.Symlink("..data/tls.crt", outside.cert()))
	require.NoError(t, os.Symlink("..data/tls.key", outside.key()))
	told := watched(t, outside.cert(), outside.key())
	publish("..2", "new")
	require.Equal(t, "new", <-told)
	require.NoError(t, os.RemoveAll(filepath.Join(mount, "..1")))
	publish("..3", "newer")
	require.Equal(t, "newer", <-told)
}

// Whoever keeps certificates elsewhere and links to them may write the target in place.
func TestTheTargetOfALinkIsWatched(t *testing.T) {
	target, links := inFiles(t, fresh(t, "old")), files{t, t.TempDir()}
	require.NoError(t, os.Symlink(target.cert(), links.cert()))
	require.NoError(t, os.Symlink(target.key(), links.key()))
	told := watched(t, links.cert(), links.key())
	// the first may be found by the look that Start begins with
	for _, host := range []string{"new", "newer"} {
		target.write(fresh(t, host))
		require.Equal(t, host, <-told)
	}
}

// A link may lead to another directory than before, and what is there is written in place later.
func TestTheNewTargetOfALinkIsWatched(t *testing.T) {
	first, second, links := inFiles(t, fresh(t, "old")), inFiles(t, fresh(t, "new")), files{t,
		t.TempDir()}
	link := func(target files) {
		for _, pair := range [][2]string{{target.key(), links.key()},
			{target.cert(), links.cert()}} {
			require.NoError(t, os.Symlink(pair[0], pair[1]+".next"))
			require.NoError(t, os.Rename(pair[1]+".next", pair[1]))
		}
	}
	link(first)
	told := watched(t, links.cert(), links.key())
	link(second)
	require.Equal(t, "new", <-told)
	for _, host := range []string{"newer", "newest"} {
		second.write(fresh(t, host))
		require.Equal(t, host, <-told)
	}
}

// What is watched in vain costs notices, and what is not watched is noticed late.
func TestTheDirectoriesOfTheFilesAndOfTheirTargetsAreWatched(t *testing.T) {
	target, links, other := inFiles(t, fresh(t, "a")), files{t, t.TempDir()}, files{t, t.TempDir()}
	require.NoError(t, os.Symlink(target.cert(), links.cert()))
	behind, err := filepath.EvalSymlinks(target.dir)
	require.NoError(t, err)
	watcher, err := fsnotify.NewWatcher()
	require.NoError(t, err)
	defer watcher.Close()
	// the key does not exist yet
	cw := &CertWatcher{certPath: links.cert(), keyPath: other.key(), log: logr.Discard()}
	cw.watchDirectories(watcher)
	require.ElementsMatch(t, []string{links.dir, behind, other.dir}, watcher.WatchList())
}

func TestNoGoroutineIsLeftWhenTheFilesAreNoLongerWatched(t *testing.T) {
	cw := inFiles(t, fresh(t, "a")).watcher()
	for range 100 {
		_, stop := notifyOfFiles(cw)
		stop()
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		require.NotContains(t, string(stacks), "CertWatcher).forward")
	}
}

// Without the system's notices, the interval is left. Nobody may be left wondering why a change
// takes so long.
func TestWhatCannotBeWatchedIsLogged(t *testing.T) {
	f := inFiles(t, fresh(t, "old"))
	var lines []string
	cw := f.watcher()
	logs := func(verbosity int) {
		cw.log = funcr.New(func(_, args string) {
			lines = append(lines, args)
		}, funcr.Options{Verbosity: verbosity})
		_, stop := notifyOfFiles(cw)
		stop()
	}
	logs(1)
	require.Empty(t, lines)

	cw.keyPath = filepath.Join(f.dir, "missing", "tls.key")
	logs(0)
	require.Empty(t, lines, "it would be said again with each change")
	logs(1)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0],
		`"msg"="A directory cannot be watched; its files are read at intervals only" "directory"="`+filepath.Dir(cw.keyPath))
}

func TestALostNoticeIsAChangeAndAnotherModeIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		cw := &CertWatcher{log: funcr.New(func(_, args string) {
			lines = append(lines, args)
		}, funcr.Options{})}
		watcher := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
		forwarding := func() (changes chan struct{}, ended <-chan struct{}) {
			done := make(chan struct{})
			changes = make(chan struct{}, 1)
			go func() {
				defer close(done)
				cw.forward(watcher, changes)
			}()
			return changes, done
		}
		changes, ended := forwarding()
		watcher.Events <- fsnotify.Event{Name: "tls.crt", Op: fsnotify.Chmod}
		synctest.Wait()
		require.Empty(t, changes, "other permissions are no other certificate")
		for range 2 { // the second finds that the first is still waiting
			watcher.Errors <- errors.New("too many changes")
		}
		synctest.Wait()
		require.Len(t, changes, 1)
		require.Equal(t,
			[]string{`"msg"="Watching the certificate's files" "error"="too many changes"`,
				`"msg"="Watching the certificate's files" "error"="too many changes"`}, lines)
		close(watcher.Errors)
		<-ended
		require.Len(t, lines, 2, "the end is no error")

		watcher.Errors = nil // one that is closed would end it, too
		_, ended = forwarding()
		close(watcher.Events)
		<-ended
	})
}
