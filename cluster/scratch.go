package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// scratchName begins the names of all scratch directories, below the temporary directory.
const scratchName = "loopwright-cluster-"

// scratch is a directory that belongs to this process. The file beside it is locked while the
// process lives. So the next process that makes one finds the directories of processes that have
// ended in any way, and removes them.
type scratch struct {
	dir  string
	lock *os.File
}

// scratches are this process's. If only a Cluster referred to the open file, the garbage collector
// would close it when the program drops the Cluster, and the lock would be released while the
// cluster runs.
var scratches sync.Map

func newScratch() (*scratch, error) {
	sweepScratch()
	for {
		file, err := os.CreateTemp("", scratchName+"*.lock")
		if err != nil {
			return nil, fmt.Errorf("making a directory for the cluster: %w", err)
		}
		name := file.Name()
		_ = file.Close()
		lock, err := tryLock(name)
		if errors.Is(err, errLocked) { // by a process that has found it unlocked, and removes it
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("making a directory for the cluster: %w", err)
		}
		made := &scratch{dir: strings.TrimSuffix(name, ".lock"), lock: lock}
		if err := privateDir(made.dir); err != nil { // after the lock, so that no process finds it unlocked
			return nil, errors.Join(err, made.remove())
		}
		scratches.Store(made, nil)
		return made, nil
	}
}

func (s *scratch) remove() error {
	// The lock goes last: what can't be removed now is left for another try, or for the next process.
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	scratches.Delete(s)
	return errors.Join(os.Remove(s.lock.Name()), s.lock.Close())
}

// sweepScratch removes the directories of processes that have ended. It ignores one that it can't
// remove, for example because it belongs to another user.
func sweepScratch() {
	names, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchName+"*.lock"))
	for _, name := range names {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue // don't follow a link
		}
		if lock, err := tryLock(name); err == nil {
			_ = (&scratch{dir: strings.TrimSuffix(name, ".lock"), lock: lock}).remove()
			_ = lock.Close()
		}
	}
}

// upScratch brings up a cluster in a directory that is removed with it.
func upScratch(ctx context.Context, options Options) (*Cluster, error) {
	if options.RemoveDir != "" {
		return nil, fmt.Errorf("an ephemeral cluster with RemoveDir=%s and no Dir: want both or neither", options.RemoveDir)
	}
	made, err := newScratch()
	if err != nil {
		return nil, err
	}
	options.Dir, options.RemoveDir = made.dir, made.dir
	up, err := Up(ctx, options)
	if err != nil {
		return nil, errors.Join(err, Down(context.WithoutCancel(ctx), options), made.remove())
	}
	up.scratch = made
	return up, nil
}
