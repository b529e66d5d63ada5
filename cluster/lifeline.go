package cluster

import (
	"fmt"
	"os"
	"sync"
)

// A lifeline ties the parts of an ephemeral cluster to the process that started
// them: a pipe that nobody writes to, whose reading end the parts inherit. When
// this process ends, however that happens, the kernel closes the writing end,
// and the parts read the end of the file.
type lifeline struct{ reading, writing *os.File }

// lifelines holds both ends for as long as this process lives or the cluster is
// up, by the cluster's directory. Held by nothing, a file is closed by the
// garbage collector, and the cluster would end under its user's hands.
var lifelines struct {
	sync.Mutex // guards byDir
	byDir      map[string]lifeline
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

// cutLifeline gives back what tieLifeline took. The parts have ended before.
func cutLifeline(at place) {
	lifelines.Lock()
	defer lifelines.Unlock()
	if tied, found := lifelines.byDir[at.dir]; found {
		_, _ = tied.reading.Close(), tied.writing.Close()
		delete(lifelines.byDir, at.dir)
	}
}
