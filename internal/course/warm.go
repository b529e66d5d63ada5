package course

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Warm is `course warm`: it loads and compiles all that a day without a network needs. The modules of every go.mod are
// downloaded; the control plane, the demos and the commands are compiled, and the tests of each exercise, with what go vet finds out about them. At the end it says how large all of it is.
//
// Errors: what could not be loaded or compiled, with the go command's words. What has been done stays, so a
// second call goes on from there.
func (r *Repo) Warm(ctx context.Context, w io.Writer) error {
	begin := time.Now()
	exercises, err := r.allExercises()
	if err != nil {
		return err
	}
	if err := r.downloadModules(ctx, w); err != nil {
		return err
	}
	if r.has(clusterCommand + "/main.go") {
		fmt.Fprintln(w, "compiling the control plane ...")
		if err := r.goRun(ctx, w, "run", "./"+clusterCommand, "build"); err != nil {
			return fmt.Errorf("compiling the control plane: %w", err)
		}
	}
	fmt.Fprintln(w, "compiling the library, the demos and the commands ...")
	// With -export, list compiles. It does not link, as build does with all programs, only to throw them away.
	if _, err := r.goOutput(ctx, "list", "-export", "./..."); err != nil {
		return fmt.Errorf("compiling the demos: %w", err)
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return err
	}
	for i, e := range exercises {
		fmt.Fprintf(w, "compiling the tests of exercise %s (%d of %d) ...\n", e.ID(), i+1, len(exercises))
		if err := n.warm(ctx, e); err != nil {
			return fmt.Errorf("compiling the tests of exercise %s: %w", e.ID(), err)
		}
	}
	sizes, err := r.sizes(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Ready for a day without a network, after %s. Go's two directories are shared by all your projects:\n\n%s", time.Since(begin).Round(time.Second), sizes)
	return nil
}

const (
	clusterCommand    = "cluster/cmd/cluster"
	controlPlaneCache = "loopwright-controlplane" // where that command keeps its binaries, in the user's cache directory
)

// downloadModules loads what each go.mod of the tree requires.
func (r *Repo) downloadModules(ctx context.Context, w io.Writer) error {
	var modules []string
	if err := r.walk(func(rel string) error {
		if path.Base(rel) == "go.mod" {
			modules = append(modules, path.Dir(rel))
		}
		return nil
	}, func(_, name string) bool { return name == "testdata" }); err != nil {
		return err
	}
	for _, dir := range modules {
		fmt.Fprintf(w, "downloading the modules of %s ...\n", path.Join(dir, "go.mod"))
		var complaint bytes.Buffer
		cmd := r.goCommand(ctx, "mod", "download")
		cmd.Dir, cmd.Stderr = r.Abs(dir), &complaint
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("the modules of %s could not all be downloaded:\n\n%s\n\nThe rest is kept, and `make warm` goes on from there. "+
				"Look at your network, and at `go env GOPROXY`, which says where modules come from", path.Join(dir, "go.mod"), indent(strings.TrimSpace(complaint.String()), "    "))
		}
	}
	return nil
}

// warm compiles, vets and links the tests of an exercise as `course exercise` does, and runs none.
func (n *runner) warm(ctx context.Context, e Exercise) error {
	overlay, err := n.repo.overlay(e, nil)
	if err != nil {
		return err
	}
	file, done, err := overlay.write(n.repo, nil)
	if err != nil {
		return err
	}
	defer done()
	args := []string{"test", "-short", "-run=^$", "-overlay=" + file}
	if e.Race && n.raceOK {
		args = append(args, "-race")
	}
	_, err = n.repo.goOutput(ctx, append(args, miniPackage)...)
	return err
}

// sizes is a table of what lies where.
func (r *Repo) sizes(ctx context.Context) (string, error) {
	env, err := r.goOutput(ctx, "env", "GOMODCACHE", "GOCACHE")
	if err != nil {
		return "", fmt.Errorf("asking the go command where its caches are: %w", err)
	}
	dirs := strings.Split(strings.TrimSpace(string(env)), "\n")
	t := table{header: []string{"what", "size", "where"}}
	t.add("modules", inMegabytes(sizeOf(dirs[0])), dirs[0])
	t.add("what is compiled", inMegabytes(sizeOf(dirs[1])), dirs[1])
	if cache, err := os.UserCacheDir(); err == nil {
		if dir := filepath.Join(cache, controlPlaneCache); isDir(dir) {
			t.add("control plane", inMegabytes(sizeOf(dir)), dir)
		}
	}
	return t.String(), nil
}

// sizeOf adds up the files of a directory. What cannot be read, or goes away meanwhile, is not counted.
func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

func inMegabytes(bytes int64) string { return fmt.Sprintf("%d MB", (bytes+999_999)/1_000_000) }
