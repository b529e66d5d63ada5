package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	kind "sigs.k8s.io/kind/pkg/cluster"
)

// engine is a program that runs kind's nodes as containers.
type engine struct {
	command  string
	provider func() kind.ProviderOption
	// cgroupField is where `info` says which version of cgroups its host has.
	cgroupField string
}

// engines are in the order in which kind looks for them.
var engines = []engine{
	{"docker", kind.ProviderWithDocker, "{{.CgroupVersion}}"},
	{"nerdctl", func() kind.ProviderOption { return kind.ProviderWithNerdctl("nerdctl") }, "{{.CgroupVersion}}"},
	{"podman", kind.ProviderWithPodman, "{{.Host.CgroupsVersion}}"},
}

// findEngine returns the first engine that answers. kind itself takes the first
// whose client is installed, and then fails where the service behind it doesn't
// run. KIND_EXPERIMENTAL_PROVIDER names one, as it does for the kind command.
func findEngine(ctx context.Context) (engine, error) {
	candidates := engines
	for _, candidate := range engines {
		if candidate.command == os.Getenv("KIND_EXPERIMENTAL_PROVIDER") {
			candidates = []engine{candidate}
		}
	}
	var silent []string
	for _, candidate := range candidates {
		_, err := candidate.ask(ctx, "ps", "--quiet")
		if err == nil {
			return candidate, nil
		}
		if ctx.Err() != nil {
			return engine{}, context.Cause(ctx)
		}
		if !errors.Is(err, exec.ErrNotFound) {
			silent = append(silent, err.Error())
		}
	}
	const advice = "start one (`docker ps` must work), or use CLUSTER=embedded, which needs none"
	if len(silent) == 0 {
		return engine{}, errors.New("CLUSTER=kind needs a running Docker, Podman or nerdctl, and none is installed: " + advice)
	}
	return engine{}, fmt.Errorf("CLUSTER=kind needs a running Docker, Podman or nerdctl, and none answered (%s): %s", strings.Join(silent, "; "), advice)
}

// ask runs one of the engine's commands, which must answer soon.
func (e engine) ask(ctx context.Context, question ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, checkLimit, fmt.Errorf("no answer within %s", checkLimit))
	defer cancel()
	command := exec.CommandContext(ctx, e.command, question...)
	command.WaitDelay = time.Second // for children of it that hold the output open
	var complaint bytes.Buffer
	command.Stderr = &complaint
	answer, err := command.Output()
	if err == nil {
		return strings.TrimSpace(string(answer)), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	text, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
	if text == "" {
		return "", fmt.Errorf("%s: %w", e.command, err)
	}
	return "", fmt.Errorf("%s: %w: %s", e.command, err, text)
}

// hasCgroupV1 asks the engine, because its host may be another machine or a virtual one. If the
// engine doesn't answer, it assumes cgroup v2.
func (e engine) hasCgroupV1(ctx context.Context) bool {
	answer, err := e.ask(ctx, "info", "--format", e.cgroupField)
	return err == nil && strings.TrimPrefix(answer, "v") == "1"
}

// newKind is the kind library, working through this engine.
func (e engine) newKind(options Options) *kind.Provider {
	return kind.NewProvider(e.provider(), kind.ProviderWithLogger(kindLogger{options.Out}))
}
