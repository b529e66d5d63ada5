// Package part is what every process of the control plane does first, on behalf
// of package cluster in the main module, which started it.
package part

import (
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Both variables hold the number of an inherited file descriptor.
const (
	// aliveVariable: a file that is locked for as long as this process lives. Its starter writes the
	// process's number into it, and so does the process, because a starter may be killed before
	// it could.
	aliveVariable = "LOOPWRIGHT_ALIVE_FD"
	// lifelineVariable: the reading end of a pipe whose other end the starter
	// holds and never writes to.
	lifelineVariable = "LOOPWRIGHT_LIFELINE_FD"
)

// removeVariable names a directory that goes away with the starter.
const removeVariable = "LOOPWRIGHT_REMOVE_DIR"

const (
	// patience is how long a process gets to stop in good order.
	patience = 5 * time.Second
	// glance is how often a process looks whether its file is still there.
	glance = time.Second
	// removeTries, removePause apart, are how often a directory is removed: for longer than
	// the other parts take to end, on a busy machine too.
	removeTries = 600
	removePause = 100 * time.Millisecond
)

// Begin makes the files that the process will write private, whatever umask the
// shell had, shows its number, and ties it to its lifeline.
func Begin() {
	syscall.Umask(0o077)
	if alive := inherited(aliveVariable); alive != nil {
		_, _ = alive.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
		go followFile(alive)
	}
	if lifeline := inherited(lifelineVariable); lifeline != nil {
		go followPipe(lifeline)
	}
}

func inherited(variable string) *os.File {
	descriptor, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return nil
	}
	syscall.CloseOnExec(descriptor)
	return os.NewFile(uintptr(descriptor), variable)
}

// followFile ends this process when its file is gone: somebody removed the
// cluster's directory (rm -rf, git clean) instead of calling `down`, and without
// the file no later `down` could find this process. It also keeps the file open,
// which the garbage collector would otherwise close, and the lock with it.
func followFile(alive *os.File) {
	for range time.Tick(glance) {
		var now syscall.Stat_t
		if err := syscall.Fstat(int(alive.Fd()), &now); err == nil && now.Nlink == 0 {
			end("")
		}
	}
}

// followPipe ends this process when the starter is gone. A cluster made for a
// test must not outlive the test, not even one that was killed with SIGKILL and
// could clean up nothing: the kernel closes its end of the pipe, and the read
// here returns.
func followPipe(lifeline *os.File) {
	_, _ = io.Copy(io.Discard, lifeline)
	end(os.Getenv(removeVariable))
}

// ending is held by the goroutine that ends this process, for good.
var ending sync.Mutex

// end ends this process, and removes a directory before, unless its name is empty. This process's
// file is in that directory. So followFile sees it go, and waits here until the rest is gone, too.
func end(dir string) {
	ending.Lock()
	if dir != "" {
		remove(dir)
	}
	self := os.Getpid()
	_ = syscall.Kill(self, syscall.SIGTERM)
	time.Sleep(patience)
	_ = syscall.Kill(self, syscall.SIGKILL)
}

// remove removes a directory in which this process and others may still be at work. A file that is
// made meanwhile is found by the next try.
func remove(dir string) {
	for range removeTries {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(removePause)
	}
}
