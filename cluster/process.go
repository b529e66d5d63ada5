package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process shows that it's alive by holding the lock on a file that it inherits from its starter.
// Its number is in that file: the starter writes it as soon as there's a process, and the process
// writes it again, in case its starter was killed in between. So a stale pid file does no harm:
// this package trusts a number, and kills its process, only while the lock is held.

const (
	// stopPatience is how long a part may take to stop gracefully before it is killed. etcd's data
	// survive that.
	stopPatience = 3 * time.Second
	// killPatience is how long the kernel may take to end a killed process.
	killPatience = 10 * time.Second
	// claimTries, times pollInterval, are a second: far longer than it takes to test a lock.
	claimTries = 50
	// numberTries, times pollInterval, are 20 s. Only if a starter was killed before it wrote a part's
	// number, somebody waits for the part to do it, and on a busy machine a start takes seconds.
	numberTries = 1000
)

// start runs a part detached from this process, in its own session, so that a Ctrl-C meant for a
// demo doesn't reach it. exited is closed when the part ends while this process lives; awaitReady
// receives from it.
func start(part Part, at place, state state, binaries binaries, options Options) (exited <-chan struct{}, err error) {
	alive, err := claim(at.alive(part))
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
	release := func() { _ = log.Close() } // the caller's end of the log
	defer func() { release() }()

	line := arguments(part, at, state)
	if options.Arguments != nil {
		if line, err = options.Arguments(part, line); err != nil {
			return nil, fmt.Errorf("starting %s: %w", part, err)
		}
	}
	command := exec.Command(binaries.controlplane, append([]string{string(part)}, line...)...)
	if part == Kwok {
		command = exec.Command(binaries.kwok, line...)
	}
	command.Dir = at.home()
	command.Env = partEnvironment(at)
	command.Stdout, command.Stderr = withLog(log, part, options)
	command.ExtraFiles = []*os.File{alive}
	command.Env = append(command.Env, "LOOPWRIGHT_ALIVE_FD=3")
	if state.lifeline != nil {
		command.ExtraFiles = append(command.ExtraFiles, state.lifeline)
		command.Env = append(command.Env, lifelineVariable+"=4")
		if part == Etcd { // one is enough, and etcd writes the most
			command.Env = append(command.Env, "LOOPWRIGHT_REMOVE_DIR="+cmp.Or(options.RemoveDir, at.cluster()))
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", part, err)
	}
	_, writeErr := alive.WriteAt([]byte(strconv.Itoa(command.Process.Pid)), 0)
	ended := make(chan struct{})
	closeLog := release
	release = func() {}
	go func() { // reaps the part; ends with it, or with this process
		_ = command.Wait()
		closeLog()
		close(ended)
	}()
	if writeErr != nil { // nobody could find it later
		_ = command.Process.Kill()
		return nil, fmt.Errorf("starting %s: writing the number of its process: %w", part, writeErr)
	}
	return ended, nil
}

// withLog returns where a part prints to: directly into its log, unless Options.Output wants a
// copy.
func withLog(log *os.File, part Part, options Options) (stdout, stderr io.Writer) {
	if options.Output == nil {
		return log, log
	}
	stdout, stderr = options.Output(part)
	both := func(reader io.Writer) io.Writer {
		if reader == nil {
			return log
		}
		return io.MultiWriter(log, reader)
	}
	return both(stdout), both(stderr)
}

// claim locks the file that a part will inherit. A process that tests whether the part is alive
// holds the lock for an instant, so one try isn't enough.
func claim(path string) (alive *os.File, err error) {
	for range claimTries {
		if alive, err = tryLock(path); !errors.Is(err, errLocked) {
			return alive, err
		}
		time.Sleep(pollInterval)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// partEnvironment keeps the caller's environment out: a KUBECONFIG, a proxy or a GODEBUG of the
// shell must not affect the cluster.
func partEnvironment(at place) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + at.home(), "TMPDIR=" + at.home()}
}

// openLog starts a new log and keeps the one of the run before.
func openLog(path string) (*os.File, error) {
	if err := os.Rename(path, path+".before"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	_ = log.Chmod(0o600) // an odd umask would keep even us from reading it
	return log, nil
}

// pidOf returns the process of a part, if it's alive. A process that has just been started may not
// have written its number yet.
func pidOf(part Part, at place) (pid int, lives bool) {
	for range numberTries {
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

// stop ends a part: gracefully if it can, by force if it must. It isn't an error if the part
// doesn't run.
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

// stopAll stops every part; those that need others come first.
func stopAll(at place) error {
	var errs []error
	for i := range Parts {
		errs = append(errs, stop(Parts[len(Parts)-1-i], at))
	}
	return errors.Join(errs...)
}
