package course

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/version"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/modfile"
)

// Doctor is `course doctor`: it says in one sentence each whether a machine has what the course
// needs, and what to do where it has not. At last it starts a cluster of its own, and removes it
// again; a cluster that runs here is left alone. Without the control plane's binaries, that
// builds them.
//
// It returns false if something would stop a learner.
func (r *Repo) Doctor(ctx context.Context, withCluster bool, w io.Writer) (ready bool, err error) {
	var try func() finding
	if withCluster {
		try = func() finding { return r.tryCluster(ctx, w) }
	}
	ready = report(r.examine(ctx).findings(), try, w)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return ready, nil
}

// report shows what was found. The cluster is tried at last, and only if all the rest is there.
func report(found []finding, cluster func() finding, w io.Writer) (ready bool) {
	ready = true
	say := func(f finding) {
		ready = ready && f.state != stop
		text := strings.ReplaceAll(wrap(f.text, 92), "\n", "\n      ")
		fmt.Fprintf(w, "%-5s %s\n", f.state, text)
	}
	for _, f := range found {
		say(f)
	}
	switch {
	case cluster == nil:
	case ready:
		fmt.Fprintln(w, "      Starting a cluster ...")
		say(cluster())
	default:
		say(finding{note, "No cluster was started: first put right what is said above."})
	}
	if ready {
		fmt.Fprintln(w, "\nThis machine is ready.")
	} else {
		fmt.Fprintln(w, "\nThis machine is not ready. Do what is said at \"stop\", and run "+
			"`make doctor` again.")
	}
	return ready
}

// finding is what doctor says about one thing.
type finding struct{ state, text string }

const (
	fine = "ok"
	note = "note" // a learner gets along, perhaps slowly
	stop = "stop" // a learner does not
)

// machine is what doctor has found out.
type machine struct {
	wanted  string           // the version of Go in go.mod, such as "1.26.0"
	goFound string           // the version that the go command has, such as "go1.26.1"
	goErr   error            // why it does not answer
	broken  map[string]error // of git and make: those that do not answer
	caches  string           // the directory of Go's caches that has less room
	free    int64            // bytes on its disk; 0 if unknown
	memory  int64            // bytes; 0 if unknown
	portErr error            // why nothing can listen on 127.0.0.1
	built   bool             // there is a control plane; it may be that of an older version
}

// What a learner needs, as docs/teaching.md says it. A machine of 8 GB reports a little less, for
// its system keeps some.
const (
	gigabyte     = 1_000_000_000
	diskAtFirst  = 10 * gigabyte // Go's caches and the control plane
	diskLater    = 3 * gigabyte  // when most of that is there
	memoryEnough = 7 * gigabyte
	memoryLeast  = 7 * gigabyte / 2
)

// findings judges a machine.
func (m machine) findings() []finding {
	return []finding{m.judgeGo(), m.judgeGit(), m.judgeMake(), m.judgeDisk(), m.judgeMemory(),
		m.judgePort(), m.judgeControlPlane()}
}

func (m machine) judgeGo() finding {
	install := fmt.Sprintf("Install Go %s or later from https://go.dev/dl/.", m.wanted)
	found := strings.TrimPrefix(m.goFound, "go")
	switch {
	case m.goErr != nil:
		return finding{stop, fmt.Sprintf("The go command does not answer (%v). %s", m.goErr, install)}
	case version.Compare(m.goFound, "go"+m.wanted) < 0:
		return finding{stop, fmt.Sprintf("Go %s is too old. %s", found, install)}
	}
	return finding{fine, fmt.Sprintf("Go %s is installed; the course needs %s or later.",
		found, m.wanted)}
}

func (m machine) judgeGit() finding {
	if err := m.broken["git"]; err != nil {
		return finding{note, fmt.Sprintf("git does not answer (%v). You need it only to fetch a "+
			"newer version of the course.", err)}
	}
	return finding{fine, "git is installed."}
}

func (m machine) judgeMake() finding {
	if err := m.broken["make"]; err != nil {
		return finding{stop, fmt.Sprintf("make does not answer (%v). Install it: "+
			"`xcode-select --install` on macOS, `apt install make` on Debian and Ubuntu.", err)}
	}
	return finding{fine, "make is installed."}
}

func (m machine) judgeDisk() finding {
	needed, why := int64(diskAtFirst), "Go's caches and the control plane"
	amount := inGigabytes(needed)
	if m.built {
		needed, why = diskLater, "what the exercises compile, and a cluster"
		amount = inGigabytes(needed) + " besides what is built already"
	}
	switch {
	case m.free == 0:
		return finding{note, fmt.Sprintf("How much disk is free at %s is unknown. The course needs "+
			"%s, for %s.", m.caches, amount, why)}
	case m.free < needed:
		return finding{stop, fmt.Sprintf("%s of disk are free at %s, and the course needs %s, for %s. "+
			"Make room there, or let GOCACHE and GOMODCACHE name directories on a larger disk.",
			inGigabytes(m.free), m.caches, amount, why)}
	}
	return finding{fine, fmt.Sprintf("%s of disk are free at %s; the course needs %s.",
		inGigabytes(m.free), m.caches, amount)}
}

func (m machine) judgeMemory() finding {
	has := fmt.Sprintf("The machine has %s of memory", inGigabytes(m.memory))
	switch {
	case m.memory == 0:
		return finding{note, "How much memory there is is unknown. The course needs 8 GB."}
	case m.memory < memoryLeast:
		return finding{stop, has + ", and the course needs 8 GB. In a virtual machine, give it more; " +
			"otherwise share a computer with a neighbour."}
	case m.memory < memoryEnough:
		return finding{note, has + ", and 8 GB would be better. Close your browser while something " +
			"compiles."}
	}
	return finding{fine, has + "; the course needs 8 GB."}
}

func (m machine) judgePort() finding {
	if m.portErr != nil {
		return finding{stop, fmt.Sprintf("No program can listen on 127.0.0.1 (%v). Look at your "+
			"firewall, and at `ip addr show lo` or `ifconfig lo0`.", m.portErr)}
	}
	return finding{fine, "A port on 127.0.0.1 is free."}
}

func (m machine) judgeControlPlane() finding {
	if !m.built {
		return finding{note, "The control plane is not built yet. `make warm` does that, and so does " +
			"the first cluster: 3 to 5 minutes on two cores, after a download."}
	}
	return finding{fine, "A control plane has been built here."}
}

// examine finds out about this machine. What cannot be found out is unknown, and no error.
func (r *Repo) examine(ctx context.Context) (m machine) {
	if text, err := r.read("go.mod"); err == nil {
		if mod, err := modfile.ParseLax("go.mod", text, nil); err == nil && mod.Go != nil {
			m.wanted = mod.Go.Version
		}
	}
	env, err := r.goOutput(ctx, "env", "GOVERSION", "GOCACHE", "GOMODCACHE")
	m.goErr = err
	if lines := strings.Split(string(env), "\n"); err == nil && len(lines) > 2 {
		m.goFound = lines[0]
		m.caches, m.free = leastFree(lines[1], lines[2])
	}
	m.broken = map[string]error{}
	for _, tool := range []string{"git", "make"} {
		// Asking for the version finds out more than looking for the file: macOS has stubs that
		// only say how to install the tool.
		m.broken[tool] = r.command(ctx, tool, "--version").Run()
	}
	m.memory = r.memory(ctx)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if m.portErr = err; err == nil {
		_ = listener.Close()
	}
	if cache, err := os.UserCacheDir(); err == nil {
		found, _ := filepath.Glob(filepath.Join(cache, controlPlaneCache, "*", "controlplane"))
		m.built = len(found) > 0
	}
	return m
}

// leastFree is the directory with the least room, and how much that is. A directory that is not
// there yet will be on the disk of the one above it.
func leastFree(dirs ...string) (least string, free int64) {
	for _, dir := range dirs {
		at := dir
		for !isDir(at) && at != filepath.Dir(at) {
			at = filepath.Dir(at)
		}
		var disk syscall.Statfs_t
		if err := syscall.Statfs(at, &disk); err != nil {
			return dir, 0
		}
		if n := int64(disk.Bavail) * int64(disk.Bsize); least == "" || n < free {
			least, free = dir, n
		}
	}
	return least, free
}

// memory is how much the machine has. Linux has a file for it, and macOS a command.
func (r *Repo) memory(ctx context.Context) (bytes int64) {
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kilobytes int64
		_, _ = fmt.Sscanf(string(text), "MemTotal: %d", &kilobytes) // 0 is unknown
		return kilobytes * 1024
	}
	text, _ := r.command(ctx, "sysctl", "-n", "hw.memsize").Output()
	bytes, _ = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return bytes
}

// tryCluster starts a cluster in a directory of its own, as `make cluster-up` does, and removes it.
func (r *Repo) tryCluster(ctx context.Context, w io.Writer) finding {
	dir := path.Join(stateDir, "doctor")
	if err := r.makeState(dir); err != nil {
		return finding{stop, fmt.Sprintf("Nothing can be written into the checkout (%v). Copy it to a "+
			"directory that you can write to.", err)}
	}
	run := func(ctx context.Context, verb string, progress io.Writer) error {
		cmd := r.goCommand(ctx, "run", "./"+clusterCommand, verb)
		cmd.Env = append(cmd.Env, "LOOPWRIGHT_DIR="+r.Abs(dir),
			"CLUSTER=embedded", "NODES=", "PORT=", "ORIGINALS=")
		cmd.Stderr = progress // the other output says how to use this cluster, and no one will
		return cmd.Run()
	}
	begin := time.Now()
	up := run(ctx, "up", w)
	took := time.Since(begin).Round(time.Second)
	// Even after Ctrl-C: its processes would go on.
	down := run(context.WithoutCancel(ctx), "down", io.Discard)
	if err := errors.Join(down, os.RemoveAll(r.Abs(dir))); up == nil && err != nil {
		return finding{note, fmt.Sprintf("A cluster has started, and could not be removed (%v). "+
			"`rm -rf %s` ends it.", err, dir)}
	}
	var exit *exec.ExitError
	if errors.As(up, &exit) {
		return finding{stop, "No cluster starts. The lines above say why, and cluster/README.md, under " +
			"\"When something does not work\", says what to do."}
	}
	if up != nil {
		return finding{stop, fmt.Sprintf("No cluster starts: %v.", up)}
	}
	return finding{fine, fmt.Sprintf("A cluster has started, after %s, and is removed again.",
		cmp.Or(took, time.Second))}
}

func inGigabytes(bytes int64) string { return fmt.Sprintf("%.0f GB", float64(bytes)/gigabyte) }
