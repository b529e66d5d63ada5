// Package machine describes the machine on which figures were measured, for the pages that have them.
package machine

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// Machine is where something was measured, and with what.
type Machine struct {
	Processor, Memory, System, Go string
	Processors                    int
	Originals                     []Module
}

// Module is a dependency that is compared with.
type Module struct{ Path, Version string }

// Fact is a line of a page that says how its figures were measured.
type Fact struct{ Name, Value string }

// Facts are the machine's.
func (m Machine) Facts() []Fact {
	facts := []Fact{
		{"machine", fmt.Sprintf("%s, %d processors, %s, %s", m.Processor, m.Processors, m.Memory, m.System)},
		{"Go", m.Go},
	}
	for _, original := range m.Originals {
		facts = append(facts, Fact{original.Path, original.Version})
	}
	return facts
}

// Look describes this machine. What a system doesn't tell is left out.
func Look(ctx context.Context) (Machine, error) {
	m := Machine{Processor: "unknown processor", Memory: "memory unknown", System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Processors: runtime.NumCPU()}
	if name := fieldOf("/proc/cpuinfo", "model name"); name != "" {
		m.Processor = name
	} else if name, err := output(ctx, "sysctl", "-n", "machdep.cpu.brand_string"); err == nil {
		m.Processor = strings.TrimSpace(name)
	}
	if size, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(fieldOf("/proc/meminfo", "MemTotal"))); err == nil {
		m.Memory = fmt.Sprintf("%.0f GB", float64(size)*1024/1e9)
	} else if text, err := output(ctx, "sysctl", "-n", "hw.memsize"); err == nil {
		if size, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			m.Memory = fmt.Sprintf("%.0f GB", size/1e9)
		}
	}
	if release, err := output(ctx, "uname", "-sr"); err == nil {
		m.System = strings.TrimSpace(release) + ", " + runtime.GOARCH
	}
	versions, err := output(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "k8s.io/client-go", "sigs.k8s.io/controller-runtime")
	if err != nil {
		return Machine{}, err
	}
	for line := range strings.Lines(versions) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		m.Originals = append(m.Originals, Module{path, version})
	}
	return m, nil
}

// fieldOf finds a line "name: value" in a file of /proc.
func fieldOf(file, name string) string {
	text, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = text.Close() }()
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func output(ctx context.Context, name string, arguments ...string) (string, error) {
	text, err := exec.CommandContext(ctx, name, arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(text), nil
}
