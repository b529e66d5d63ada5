package cluster

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// lifelineVariable has the number of the file that is the reading end of a lifeline, in the
// environment of a part. A command that has one itself passes it on to the parts that it starts: so
// a test ties the clusters of its commands to itself.
const lifelineVariable = "LOOPWRIGHT_LIFELINE_FD"

// A lifeline ties the parts of an ephemeral cluster to the process that started them: a pipe that
// no process writes to, whose reading end the parts inherit. When this process ends, in any way,
// the kernel closes the writing end, and the parts read the end of the file.
type lifeline struct{ reading, writing *os.File }

// lifelines holds both ends for as long as this process lives or the cluster is up, by the
// cluster's directory. If nothing referred to the files, the garbage collector would close them,
// and the running cluster would end.
var lifelines struct {
	sync.Mutex // guards byDir
	byDir      map[string]lifeline
}

// lifelineOf returns the reading end of the lifeline for the parts to follow, or nil if the cluster
// should outlive this process.
func lifelineOf(at place, options Options) (*os.File, error) {
	if options.Ephemeral {
		return tieLifeline(at)
	}
	descriptor, err := strconv.Atoi(os.Getenv(lifelineVariable))
	if err != nil {
		return nil, nil
	}
	var file syscall.Stat_t
	if err := syscall.Fstat(descriptor, &file); err != nil || file.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return nil, fmt.Errorf("%s=%d: want the number of an open pipe", lifelineVariable, descriptor)
	}
	// The parts get it under another number, and a command that replaces this process doesn't get it.
	syscall.CloseOnExec(descriptor)
	_ = os.Unsetenv(lifelineVariable)
	return os.NewFile(uintptr(descriptor), lifelineVariable), nil
}

// tieLifeline returns the reading end of the lifeline of the cluster at a place.
func tieLifeline(at place) (*os.File, error) {
	lifelines.Lock()
	defer lifelines.Unlock()
	if tied, found := lifelines.byDir[at.dir]; found {
		return tied.reading, nil
	}
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("tying the cluster to this process: %w", err)
	}
	if lifelines.byDir == nil {
		lifelines.byDir = map[string]lifeline{}
	}
	lifelines.byDir[at.dir] = lifeline{reading: reading, writing: writing}
	return reading, nil
}

// cutLifeline undoes tieLifeline. The parts have already ended.
func cutLifeline(at place) {
	lifelines.Lock()
	defer lifelines.Unlock()
	if tied, found := lifelines.byDir[at.dir]; found {
		_, _ = tied.reading.Close(), tied.writing.Close()
		delete(lifelines.byDir, at.dir)
	}
}

// parentGlance is how often EndWithParent checks the parent.
const parentGlance = time.Second

// EndWithParent ends this process when the one that started it has ended, if it's a test binary
// that `go test` runs. It's for TestMain: if a signal ends `go test`, the test binaries otherwise
// keep running, with their clusters, until they're done. It parses the command line unless that has
// been done.
//
// A binary that a user runs without `go test` keeps running without its shell. EndWithParent can't
// notice the end of a parent that ended before the call, or that is outside the process's PID
// namespace.
func EndWithParent() {
	if !flag.Parsed() {
		flag.Parse()
	}
	// The go command sets this flag; a user who runs the binary doesn't.
	if byGo := flag.Lookup("test.paniconexit0"); byGo == nil || byGo.Value.String() != "true" {
		return
	}
	parent := os.Getppid()
	go func() { // ends with this process
		for range time.Tick(parentGlance) {
			if os.Getppid() != parent {
				_, _ = fmt.Fprintln(os.Stderr, "the process that started this one has ended, so this one ends, too")
				os.Exit(1)
			}
		}
	}()
}
