package dropin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a program may take to end after an interrupt, before it is killed.
const patience = 10 * time.Second

// command is a program that runs in the tree, and writes temporary files to a directory of ours.
func (a *aside) command(name string, arguments ...string) *exec.Cmd {
	command := exec.Command(name, arguments...)
	command.Dir = a.program.Dir
	command.Env = append(os.Environ(), "GOWORK=off", "TMPDIR="+a.temporary, "GOTMPDIR="+a.temporary)
	return command
}

// run runs a command until it ends. An end of the context interrupts it, as Ctrl-C does, so that it
// can tidy up. What is left of all that it has started is killed, even if it ends by itself: a test
// that panics leaves its API server behind.
func run(ctx context.Context, command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us to pass on
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1) // capacity 1: Wait's goroutine ends, too, if nobody reads
	command.WaitDelay = patience // for a child that keeps the output open
	go func() { ended <- command.Wait() }()
	group := -command.Process.Pid
	session := command.Process.Pid
	defer func() {
		_ = syscall.Kill(group, syscall.SIGKILL)
		for _, pid := range inSession(session) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	started := descendants(session)
	_ = syscall.Kill(group, syscall.SIGINT)
	select {
	case <-ended:
	case <-time.After(patience):
		defer func() { <-ended }() // after they're killed
	}
	for _, pid := range started {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return context.Cause(ctx)
}

// inSession lists the processes of a session. A process may have left the group, as envtest's API
// servers do, and its parent may be gone.
func inSession(id int) (found []int) {
	for pid := range parents() {
		if session, err := unix.Getsid(pid); err == nil && session == id {
			found = append(found, pid)
		}
	}
	return found
}

// descendants lists a process and all that it has started, directly or not.
func descendants(pid int) []int {
	parents := parents()
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		for child, parent := range parents {
			if parent == all[i] && !slices.Contains(all, child) {
				all = append(all, child)
			}
		}
	}
	return all
}

// parents has the parent of each process. It is empty where there is no ps: then only the group of a
// program is ended.
func parents() map[int]int {
	out, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	found := map[int]int{}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			pid, _ := strconv.Atoi(fields[0])
			found[pid], _ = strconv.Atoi(fields[1])
		}
	}
	return found
}

// goCommand runs the go command with one of the two go.mods, which it may complete. An error has what
// it says, without what it downloads.
func (a *aside) goCommand(ctx context.Context, modfile string, arguments ...string) ([]byte, error) {
	flags := []string{"-mod=mod", "-modfile=" + modfile, "-buildvcs=false"}
	command := a.command("go", slices.Insert(arguments, 1, flags...)...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err := run(ctx, command)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = refusal(cmp.Or(withoutDownloads(said.String()), err.Error()))
	}
	return out.Bytes(), err
}

// linkerFlags leave out what only a debugger reads, as `go test` does if it runs what it links: that's
// a third of the linker's time. The flags of somebody who has some in GOFLAGS stay.
func (a *aside) linkerFlags() []string {
	out, _ := a.command("go", "env", "GOFLAGS").Output() // without the go command, the next step fails
	if strings.Contains(string(out), "-ldflags") {
		return nil
	}
	return []string{"-ldflags=-s -w"}
}

// refusal is what the go command says when it fails.
type refusal string

func (r refusal) Error() string { return string(r) }

func withoutDownloads(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "go: downloading ")
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// listed is a package as `go list` describes it.
type listed struct {
	ImportPath                string
	Dir                       string
	TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports []string
}

// imports reports whether the package's tests import another.
func (p listed) imports(path string) bool {
	return slices.Contains(p.TestImports, path) || slices.Contains(p.XTestImports, path)
}

// complete completes go.mod and go.sum with what packages and their tests import.
func (a *aside) complete(ctx context.Context, modfile string, patterns []string) error {
	_, err := a.goCommand(ctx, modfile, append([]string{"list", "-deps", "-test"}, patterns...)...)
	return err
}

// list lists packages, also those that import what can't be found: the compiler says so later.
func (a *aside) list(ctx context.Context, modfile string, tags, patterns []string) (found []listed, err error) {
	out, err := a.goCommand(ctx, modfile, slices.Concat([]string{"list", "-e", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,TestImports,XTestImports"}, tags, patterns)...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

// report says what is being done, and that it still is, until the function that it returns is called.
func report(progress io.Writer, what string) (done func()) {
	_, _ = fmt.Fprintf(progress, "%s ...\n", what)
	began := time.Now()
	ticker, stop, stopped := time.NewTicker(20*time.Second), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ticker.C:
				_, _ = fmt.Fprintf(progress, "%s: %s so far\n", what, time.Since(began).Round(time.Second))
			case <-stop:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(stop)
		<-stopped
	}
}

// peak is the most memory that a process has had, in bytes: the test program, or the largest one that
// it has waited for. On Linux, it's never less than what this program had when it started the other,
// which is floor then.
func peak(state *os.ProcessState) (bytes int64, floor bool) {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	var own syscall.Rusage
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil {
		return 0, true
	}
	unit := int64(1024)
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return int64(usage.Maxrss) * unit, usage.Maxrss <= own.Maxrss
}

// aside is a temporary directory beside everything that belongs to the program.
type aside struct {
	program   *Program
	dir       string
	temporary string // for the programs that are run
}

func newAside(p *Program) (*aside, error) {
	dir, err := os.MkdirTemp("", "loopwright-")
	if err != nil {
		return nil, err
	}
	a := &aside{program: p, dir: dir, temporary: filepath.Join(dir, "tmp")}
	return a, os.Mkdir(a.temporary, 0o755)
}

// remove removes the directory. What a test has made may be read-only.
func (a *aside) remove() error {
	_ = filepath.WalkDir(a.dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(name, 0o755)
		}
		return nil
	})
	return os.RemoveAll(a.dir)
}

// modfile writes a go.mod with its go.sum. Relative paths in it are still those of the program's own.
func (a *aside) modfile(side string, mod, sum []byte) (string, error) {
	name := filepath.Join(a.dir, side+".mod")
	return name, errors.Join(os.WriteFile(name, mod, 0o644), os.WriteFile(sumOf(name), sum, 0o644))
}

func sumOf(modfile string) string { return strings.TrimSuffix(modfile, ".mod") + ".sum" }
