package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process shows that it lives by holding the lock on a file that it inherits
// from its starter, and writes its number into that file itself. So there is no
// stale pid file to be misled by: a number is believed, and its process killed,
// only while the lock is held.

const (
	// stopPatience is how long a part may take to stop in good order before it
	// is killed. Nothing of value is lost then: etcd's data survive it.
	stopPatience = 5 * time.Second
	// killPatience is how long the kernel may take to bury a killed process.
	killPatience = 10 * time.Second
)

// start runs a part detached from this process: in a session of its own, so
// that a Ctrl-C meant for a demo does not reach it. exited is closed when the
// part ends while this process lives; its reader is who waits for readiness.
func start(part Part, at place, state state, binaries binaries) (exited <-chan struct{}, err error) {
	alive, err := tryLock(at.alive(part))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", part, err)
	}
	defer func() { _ = alive.Close() }()
	if err := alive.Truncate(0); err != nil {
		return nil, fmt.Errorf("starting %s: %w", part, err)
	}
	log, err := openLog(at.log(part))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", part, err)
	}
	defer func() { _ = log.Close() }()

	command := exec.Command(binaries.controlplane, append([]string{string(part)}, arguments(part, at, state)...)...)
	if part == Kwok {
		command = exec.Command(binaries.kwok, arguments(part, at, state)...)
	}
	command.Dir = at.home()
	command.Env = partEnvironment(at)
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{alive}
	command.Env = append(command.Env, "LOOPWRIGHT_ALIVE_FD=3")
	if state.lifeline != nil {
		command.ExtraFiles = append(command.ExtraFiles, state.lifeline)
		command.Env = append(command.Env, "LOOPWRIGHT_LIFELINE_FD=4")
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", part, err)
	}
	ended := make(chan struct{})
	go func() { // reaps the part; ends with it, or with this process
		_ = command.Wait()
		close(ended)
	}()
	return ended, nil
}

// partEnvironment keeps the caller's environment out: a KUBECONFIG, a proxy or a
// GODEBUG of the shell is none of the cluster's business.
func partEnvironment(at place) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + at.home(), "TMPDIR=" + at.home()}
}

// openLog starts a new log and keeps the one of the run before.
func openLog(path string) (*os.File, error) {
	if err := os.Rename(path, path+".before"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// pidOf returns the process of a part, if it lives. A process that has just
// been started may not have written its number yet.
func pidOf(part Part, at place) (pid int, lives bool) {
	for range 50 {
		if !isLocked(at.alive(part)) {
			return 0, false
		}
		text, _ := os.ReadFile(at.alive(part))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
			return pid, true
		}
		time.Sleep(pollInterval)
	}
	return 0, true
}

// stop ends a part: in good order if it can, by force if it must. A part that
// does not run is fine.
func stop(part Part, at place) error {
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGTERM, stopPatience}, {syscall.SIGKILL, killPatience}} {
		pid, lives := pidOf(part, at)
		if !lives {
			return nil
		}
		if pid == 0 {
			return fmt.Errorf("stopping %s: it holds %s but did not write its process number there: find it with `fuser %[2]s` and end it", part, at.alive(part))
		}
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping %s, process %d: %w", part, pid, err)
		}
		if awaitDeath(part, at, step.patience) {
			return nil
		}
	}
	return fmt.Errorf("stopping %s: it outlived SIGKILL by %s", part, killPatience)
}

// kill ends a part at once, as a crash would.
func kill(part Part, at place) error {
	pid, lives := pidOf(part, at)
	if !lives || pid == 0 {
		return fmt.Errorf("killing %s: it does not run", part)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing %s, process %d: %w", part, pid, err)
	}
	if !awaitDeath(part, at, killPatience) {
		return fmt.Errorf("killing %s: it outlived SIGKILL by %s", part, killPatience)
	}
	return nil
}

func awaitDeath(part Part, at place, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pollInterval) {
		if !isLocked(at.alive(part)) {
			return true
		}
	}
	return false
}

// stopAll stops every part, those first that need the others.
func stopAll(at place) error {
	var errs []error
	for i := range Parts {
		errs = append(errs, stop(Parts[len(Parts)-1-i], at))
	}
	return errors.Join(errs...)
}

// lastLines returns the end of a log, for an error message.
func lastLines(path string, count int) string {
	file, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer func() { _ = file.Close() }()
	const tail = 64 << 10 // bytes, plenty for the lines that are shown
	if info, err := file.Stat(); err == nil && info.Size() > tail {
		_, _ = file.Seek(-tail, io.SeekEnd)
	}
	content, _ := io.ReadAll(file)
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	if len(lines) > count {
		lines = lines[len(lines)-count:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}

// partError is a failure of one part, with the end of its log.
type partError struct {
	part Part
	log  string
	what error
}

func failed(part Part, at place, what error) error {
	return &partError{part: part, log: at.log(part), what: what}
}

func (e *partError) Unwrap() error { return e.what }

func (e *partError) Error() string {
	lines := strings.ReplaceAll(lastLines(e.log, 15), "\n", "\n  | ")
	return fmt.Sprintf("%s %v; the end of its log, %s:\n  | %s", e.part, e.what, filepath.Clean(e.log), lines)
}

var errEnded = errors.New("ended")

// awaitReady calls ready until it succeeds, the context ends, or a part that it
// needs ends.
func awaitReady(ctx context.Context, what string, exited map[Part]<-chan struct{}, at place, ready func(context.Context) error) error {
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		for _, part := range Parts {
			select {
			case <-exited[part]: // a nil channel, of a part not started, never fires
				return failed(part, at, errEnded)
			default:
			}
		}
		if err := pause(ctx, pollInterval); err != nil {
			return fmt.Errorf("waiting for %s: %w; last: %w", what, err, last)
		}
	}
}
