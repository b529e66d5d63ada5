package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status describes a cluster.
type Status struct {
	Mode Mode
	// Name is the URL of the API server, or the name of the kind cluster or of the context.
	Name string
	// Running is true when the API server answers.
	Running bool
	// Problem says what's wrong with a cluster that exists but doesn't work.
	Problem error
	// Since is when an embedded cluster was started.
	Since time.Time
	// Kubeconfig and Kubectl are the files that a user needs to reach the cluster. Kubectl is empty
	// if the cluster has none.
	Kubeconfig, Kubectl string
	Nodes, ReadyNodes   int
	// Originals are the sample controllers that kube-controller-manager keeps.
	Originals []string
	// Off are the optional controllers that it doesn't keep.
	Off []string
	// Parts are the processes of an embedded cluster.
	Parts []PartStatus
}

// PartStatus is the state of one process.
type PartStatus struct {
	Part    Part
	Running bool
	PID     int
	// Memory is the resident set in bytes, 0 if it can't be found out.
	Memory int64
	Log    string
}

// Inspect reports on the cluster that Up with the same options would return.
func Inspect(ctx context.Context, options Options) (Status, error) {
	options, err := options.withDefaults()
	if err != nil {
		return Status{}, err
	}
	switch options.Mode {
	case Kind:
		return inspectKind(ctx, options)
	case Current:
		return inspectCurrent(ctx)
	default:
		return inspectEmbedded(ctx, options)
	}
}

func inspectEmbedded(ctx context.Context, options Options) (Status, error) {
	at := place{dir: options.Dir}
	status := Status{Mode: Embedded}
	state, known, err := loadState(at)
	if err != nil {
		return status, err
	}
	for _, part := range Parts {
		pid, lives := pidOf(part, at)
		status.Parts = append(status.Parts, PartStatus{
			Part: part, Running: lives, PID: pid, Memory: residentMemory(pid), Log: at.log(part),
		})
		if known && state.has(part) && !lives && status.Problem == nil {
			status.Problem = fmt.Errorf("%s does not run: `make cluster-up` starts it again", part)
		}
	}
	if !known {
		return status, nil
	}
	status.Name, status.Since = state.serverURL(), state.Started
	for _, name := range state.Originals {
		if optional, isOff := strings.CutPrefix(name, off); isOff {
			status.Off = append(status.Off, optional)
		} else {
			status.Originals = append(status.Originals, name)
		}
	}
	status.Kubeconfig, status.Kubectl = at.kubeconfig(), at.kubectl()

	c := &embedded{at: at, state: state}
	if err := c.connect(); err != nil {
		status.Problem = err
		return status, nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	if err := checkServing(ctx, c.client); err != nil {
		if status.Problem == nil {
			status.Problem = err
		}
		return status, nil
	}
	status.Running = true
	status.Nodes, status.ReadyNodes, err = readyNodes(ctx, c.client, metav1.ListOptions{})
	return status, err
}

// residentMemory asks the kernel, on Linux, or ps how much memory a process
// occupies.
func residentMemory(pid int) int64 {
	if pid == 0 {
		return 0
	}
	if content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for line := range strings.Lines(string(content)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
				return kibibytes(fields[1])
			}
		}
		return 0
	}
	text, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	return kibibytes(strings.TrimSpace(string(text)))
}

func kibibytes(text string) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return number << 10
}
