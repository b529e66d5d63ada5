package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Locks here are flocks. The kernel ties one to an open file and drops it when the last process
// that has the file open ends, so a crash can't leave a stale lock behind. We use that twice: for
// mutual exclusion between commands, and as a part's sign of life, because the part inherits its
// locked file.

// pollInterval is how often to try a lock that another process holds, and to check a part that is
// starting or stopping. flock can't wait with a time-out.
const pollInterval = 20 * time.Millisecond

// lockFile waits for the lock at path. The content of the file names the holder, for processes that
// wait.
func lockFile(ctx context.Context, path, purpose string, out io.Writer) (unlock func(), err error) {
	told := false
	for {
		file, err := tryLock(path)
		if err == nil {
			_ = file.Truncate(0)
			_, _ = fmt.Fprintf(file, "%d (%s, since %s)", os.Getpid(), purpose, time.Now().Format(time.TimeOnly))
			return func() {
				// Removed while it's still held: a process that waits for it notices that the name
				// now means another file, or none.
				_ = os.Remove(path)
				_ = file.Close()
			}, nil
		}
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("locking %s for %s: %w", path, purpose, err)
		}
		if !told {
			holder, _ := os.ReadFile(path)
			_, _ = fmt.Fprintf(out, "Waiting for process %s, which is at work in the same place, before %s.\n", strings.TrimSpace(string(holder)), purpose)
			told = true
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
		}
	}
}

var errLocked = errors.New("locked by another process")

// tryLock opens path and locks it, or returns errLocked.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	_ = file.Chmod(0o600) // with an odd umask, even this user couldn't open it again
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	// Its last holder may have removed the file since it was opened.
	mine, err := file.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Stat(path); err == nil && os.SameFile(mine, named) {
			return file, nil
		}
	}
	_ = file.Close()
	return nil, errLocked
}

// isLocked reports whether a process holds the file's lock, without making the file. It takes a
// shared lock for an instant, so that two processes that check at the same time don't see each
// other.
func isLocked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
