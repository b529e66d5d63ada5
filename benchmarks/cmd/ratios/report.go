package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed report.md.tmpl
var reportText string

// report is what the page is made of.
type report struct {
	Rows      []row
	Prices    []price
	Plots     []curve
	Machine   machine
	Rounds    int
	Benchtime time.Duration
	Date      string
	Took      time.Duration
}

// section is a table of the report.
type section struct {
	Title string
	Rows  []row
}

// Sections are the tables, those first in which we lose.
func (r report) Sections() []section {
	sections := []section{{Title: worse.String()}, {Title: same.String()}, {Title: better.String()}}
	for _, row := range r.Rows {
		sections[row.Verdict].Rows = append(sections[row.Verdict].Rows, row)
	}
	return sections
}

func write(file string, r report) error {
	page, err := template.New("report").Funcs(template.FuncMap{"decimal": decimal}).Parse(reportText)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := page.Execute(&text, r); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// machine is where it was measured, and with what.
type machine struct {
	Processor, Memory, System, Go string
	Processors                    int
	Originals                     []module
}

type module struct{ Path, Version string }

// lookAround describes this machine. What a system does not tell is left out.
func lookAround(ctx context.Context) (machine, error) {
	m := machine{Processor: "unknown processor", Memory: "memory unknown", System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Processors: runtime.NumCPU()}
	if name := fieldOf("/proc/cpuinfo", "model name"); name != "" {
		m.Processor = name
	} else if name, err := output(ctx, ".", "sysctl", "-n", "machdep.cpu.brand_string"); err == nil {
		m.Processor = strings.TrimSpace(name)
	}
	if size, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(fieldOf("/proc/meminfo", "MemTotal"))); err == nil {
		m.Memory = fmt.Sprintf("%.0f GB", float64(size)*1024/1e9)
	} else if text, err := output(ctx, ".", "sysctl", "-n", "hw.memsize"); err == nil {
		if size, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			m.Memory = fmt.Sprintf("%.0f GB", size/1e9)
		}
	}
	if release, err := output(ctx, ".", "uname", "-sr"); err == nil {
		m.System = strings.TrimSpace(release) + ", " + runtime.GOARCH
	}
	versions, err := output(ctx, ".", "go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "k8s.io/client-go", "sigs.k8s.io/controller-runtime")
	if err != nil {
		return machine{}, err
	}
	for line := range strings.Lines(versions) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		m.Originals = append(m.Originals, module{path, version})
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
