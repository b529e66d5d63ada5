package course

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// cached returns the remembered result, or runs the tests.
func (n *runner) cached(ctx context.Context, e Exercise, s solution) (gotest.Failure, error) {
	given, err := n.inputsOf(e)
	if err != nil {
		return gotest.Failure{}, err
	}
	f, known, err := n.recall(given, e, s)
	if err != nil || known {
		return f, err
	}
	return n.run(ctx, e, s)
}

// recall looks for a remembered result.
func (n *runner) recall(given inputs, e Exercise, s solution) (f gotest.Failure, known bool, err error) {
	file, err := n.resultFile(given, e, s)
	if err != nil {
		return gotest.Failure{}, false, err
	}
	if text, err := n.repo.read(file); err == nil {
		if json.Unmarshal(text, &f) == nil && f.Status != "" {
			return f, true, nil
		}
	}
	return gotest.Failure{}, false, nil
}

// remember keeps a result under the name that its inputs had before the run.
// It leaves out what may be the machine's fault and not the code's, and the
// result of a run during which somebody saved a file: nobody knows which
// version was tested. given are the inputs after the run.
func (n *runner) remember(given inputs, e Exercise, s solution, f gotest.Failure, before string) error {
	if f.Status == gotest.TimedOut || f.Status == gotest.Broken || f.Ended == gotest.TimedOut {
		return nil
	}
	file, err := n.resultFile(given, e, s)
	if err != nil || file != before {
		return err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("remembering a result: %w", err)
	}
	return n.repo.writeState(file, text)
}

// inputs is a hash of all that the results of an exercise depend on besides the solutions. Reading all of that
// takes a tenth of a second, so it's read once for many solutions.
type inputs [sha256.Size]byte

// inputsOf hashes the exercise's tests, the go command, and every file of the tree. That is more than the tests
// import, on purpose.
func (n *runner) inputsOf(e Exercise) (given inputs, err error) {
	h := sha256.New()
	spec, err := json.Marshal(e)
	if err != nil {
		return given, fmt.Errorf("hashing exercise %s: %w", e.ID(), err)
	}
	fmt.Fprintf(h, "%s\n%s\n%s\n", n.goFlavor, spec, n.timeout)
	files, err := n.inputFiles(e)
	if err != nil {
		return given, err
	}
	if e.base != "" {
		files = append(files, e.base)
	}
	files = append(files, sortedValues(e.more)...)
	for _, rel := range files {
		text, err := n.repo.read(rel)
		if err != nil {
			return given, fmt.Errorf("hashing the inputs of exercise %s: %w", e.ID(), err)
		}
		fmt.Fprintf(h, "%s %d\n", rel, len(text))
		h.Write(text)
	}
	return inputs(h.Sum(nil)), nil
}

// resultFile names the file of a result by a hash of what it depends on: the inputs, and the solution.
func (n *runner) resultFile(given inputs, e Exercise, s solution) (string, error) {
	// Somebody may have saved the learner's file since the solution was read.
	content := s.content
	if s.isLearners() {
		now, err := n.repo.learnerIn(s.home, e)
		if err != nil {
			return "", err
		}
		content = now.content
	}
	h := sha256.New()
	fmt.Fprintf(h, "%x %s %t %t %d\n%s", given, s.only, s.isLearners(), s.isStub, len(content), content)
	return stateDir + "/results/" + hex.EncodeToString(h.Sum(nil)[:16]) + ".json", nil
}

// inputFiles lists the files that the tests of an exercise can read.
func (n *runner) inputFiles(e Exercise) ([]string, error) {
	var files []string
	err := n.repo.walk(func(rel string) error {
		prose := strings.HasSuffix(rel, ".md") && !strings.Contains(rel, "testdata/")
		if !prose && !slices.Contains(e.hidden, rel) {
			files = append(files, rel)
		}
		return nil
	}, func(rel, _ string) bool {
		return rel == chaptersDir || rel == exercisesDir || rel == "docs" || n.repo.has(path.Join(rel, "go.mod"))
	})
	return files, err
}

// stateDir is git-ignored and may be removed at any time.
const stateDir = ".loopwright/course"

func (r *Repo) writeState(rel string, text []byte) error {
	if err := r.makeState(path.Dir(rel)); err != nil {
		return err
	}
	if err := os.WriteFile(r.Abs(rel), text, 0o600); err != nil {
		return fmt.Errorf("keeping a result in %s: %w", stateDir, err)
	}
	return nil
}

// makeState makes a directory below .loopwright, which the cluster keeps its
// keys in: nobody else may look into it, whoever makes it first.
func (r *Repo) makeState(rel string) error {
	if err := os.MkdirAll(r.Abs(rel), 0o700); err != nil {
		return fmt.Errorf("making %s: %w", rel, err)
	}
	return nil
}
