package cluster

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// binaries are the two files that an embedded cluster runs. id changes whenever their sources do.
type binaries struct {
	id, controlplane, kwok string
}

// build compiles the nested module, once for each state of its sources. All checkouts of a user
// share the result: it takes minutes to make and 220 MB.
//
// Only this function needs the network, and only if Go's module cache doesn't have the sources yet.
func build(ctx context.Context, out io.Writer) (binaries, error) {
	source, err := findSource()
	if err != nil {
		return binaries{}, err
	}
	id, err := fingerprint(source.files)
	if err != nil {
		return binaries{}, fmt.Errorf("looking for the control plane's sources: %w", err)
	}
	cache, err := binaryCache()
	if err != nil {
		return binaries{}, err
	}
	dir := filepath.Join(cache, id)
	built := binaries{id: id, controlplane: filepath.Join(dir, "controlplane"), kwok: filepath.Join(dir, "kwok")}
	if isFile(built.controlplane) && isFile(built.kwok) {
		return built, nil
	}
	if err := existingDir(cache); err != nil {
		return binaries{}, fmt.Errorf("%w: set XDG_CACHE_HOME to a directory that you can write to", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, id+".lock"), "building", out)
	if err != nil {
		return binaries{}, err
	}
	defer unlock()
	if isFile(built.controlplane) && isFile(built.kwok) { // another process built them while this one waited for the lock
		return built, nil
	}
	unpacked, drop, err := source.unpacked(dir + ".source")
	if err != nil {
		return binaries{}, err
	}
	defer drop()
	return built, compile(ctx, unpacked, dir, out)
}

// Build compiles the control plane ahead of time, if that hasn't been done, so that the first Up
// doesn't have to.
func Build(ctx context.Context, out io.Writer) error {
	_, err := build(ctx, out)
	return err
}

// compile builds into a temporary directory and renames it, so that a build that was cut off is
// never taken for a complete one. The caller holds the lock for dir, so it may remove what a killed
// build left there.
func compile(ctx context.Context, source, dir string, out io.Writer) error {
	temporary := dir + ".building"
	if err := errors.Join(os.RemoveAll(temporary), privateDir(temporary)); err != nil {
		return fmt.Errorf("building the control plane: %w", err)
	}
	defer func() { _ = os.RemoveAll(temporary) }()

	_, _ = fmt.Fprintln(out, "Building the control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok,")
	_, _ = fmt.Fprintln(out, "from their Go modules. This happens once and takes about 3 to 5 minutes on 2 cores, plus the download.")
	progress := &buildProgress{out: out, start: time.Now(), total: countPackages(ctx, source), tick: tickOf(out)}
	command := goCommand(ctx, source, "build", "-v", "-trimpath", "-ldflags="+linkerFlags, "-o", temporary+"/", ".", "./kwok")
	stderr, err := command.StderrPipe()
	if err != nil {
		return fmt.Errorf("building the control plane: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("building the control plane: %w: is Go installed and on the PATH?", err)
	}
	complaints := progress.follow(stderr)
	if err := command.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("building the control plane: %w; what was compiled is kept, the next try goes on from there", context.Cause(ctx))
		}
		return fmt.Errorf("building the control plane: %w; go said:\n  | %s", err, strings.Join(complaints, "\n  | "))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("building the control plane: %w", err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("building the control plane: %w", err)
	}
	_, _ = fmt.Fprintf(out, "Built in %s.\n", time.Since(progress.start).Round(time.Second))
	return nil
}

// linkerFlags leave out debug information and set the version of Kubernetes, as a release build
// does.
const linkerFlags = "-s -w" +
	" -X k8s.io/component-base/version.gitVersion=" + kubernetesVersion +
	" -X k8s.io/client-go/pkg/version.gitVersion=" + kubernetesVersion

// kubernetesVersion is the version that cluster/controlplane/go.mod requires; a test compares them.
const kubernetesVersion = "v1.36.3"

// KubernetesVersion is the version of the embedded control plane.
func KubernetesVersion() string { return kubernetesVersion }

// goCommand runs the go command for this machine, on the nested module alone, whatever the caller
// cross-compiles, has in a go.work or experiments with. Where the sources come from (GOPROXY and
// the like) stays the user's choice.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(),
		// An empty GOFLAGS would let one through that `go env -w` has set.
		"GOWORK=off", "GOFLAGS=-mod=readonly", "GO111MODULE=on", "GODEBUG=", "GOEXPERIMENT=",
		"CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// Interrupted, go ends its compilers before it ends itself.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	return command
}

func countPackages(ctx context.Context, source string) int {
	list, err := goCommand(ctx, source, "list", "-deps", ".", "./kwok").Output()
	if err != nil {
		return 0 // the build will say why
	}
	return strings.Count(string(list), "\n")
}

// buildProgress turns the package names that go build -v prints into ticks.
type buildProgress struct {
	out      io.Writer
	start    time.Time
	total    int // packages there are; 0 if unknown
	compiled int
	tick     time.Duration
	last     time.Time
}

// tickOf is how often to print progress: a terminal's line is overwritten and may change often, a
// log's line stays.
func tickOf(out io.Writer) time.Duration {
	if isTerminal(out) {
		return 200 * time.Millisecond
	}
	return 10 * time.Second
}

// follow reads go's output to its end and returns its last lines that aren't package names.
func (p *buildProgress) follow(output io.Reader) (complaints []string) {
	lines := bufio.NewScanner(output)
	downloads := 0
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			downloads++
		case !strings.ContainsAny(line, " :\t#"):
			p.compiled++
		default:
			complaints = append(complaints, line)
		}
		if now := time.Now(); now.Sub(p.last) >= p.tick {
			p.last = now
			p.show(downloads)
		}
	}
	// A line too long for the scanner ends the loop; go must not wait for us then.
	_, _ = io.Copy(io.Discard, output)
	if isTerminal(p.out) {
		_, _ = fmt.Fprint(p.out, "\r\033[K")
	}
	if len(complaints) > 20 {
		complaints = complaints[len(complaints)-20:]
	}
	return complaints
}

func (p *buildProgress) show(downloads int) {
	what := fmt.Sprintf("compiled %d of at most %d packages", p.compiled, p.total)
	if p.compiled == 0 {
		what = fmt.Sprintf("downloaded %d modules", downloads)
	}
	line := fmt.Sprintf("  %s, %s so far", what, time.Since(p.start).Round(time.Second))
	if isTerminal(p.out) {
		_, _ = fmt.Fprint(p.out, "\r\033[K", line)
	} else {
		_, _ = fmt.Fprintln(p.out, line)
	}
}

// fingerprint names the content of the nested module and the compiler.
func fingerprint(source fs.FS) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, linkerFlags)
	err := eachSource(source, func(path string, content []byte) error {
		_, _ = fmt.Fprintln(sum, path, len(content))
		_, _ = sum.Write(content)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

// binaryCache is where builds are kept, below the user's cache directory.
func binaryCache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for a place to keep the control plane's binaries: %w: set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(cache, "loopwright-controlplane"), nil
}

// CleanCache removes the control plane binaries that were built for this user. Running clusters
// keep running.
func CleanCache() error {
	cache, err := binaryCache()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(cache); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the control plane's binaries: %w", err)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
