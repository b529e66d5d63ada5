package course

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// miniOrder are the files of mini, in the order of the chapters.
var miniOrder = []string{
	"listwatch", "store", "reflector", "informer", "shared",
	"queue", "delay",
	"controller", "events", "client", "cache", "first", "lease", "manager", "finalizer", "apply", "webhook", "defaulting", "faults",
	"owner", "ranking", "replicaset", "template", "rolling", "scaling", "deployment", "endpoints", "graph", "garbage",
	"namespaceplan", "namespace", "jobplan", "job", "cronplan", "cronjob", "revision", "placement", "daemonplan", "daemonset",
	"identity", "statefulplan", "statefulset", "nodehealth", "tainteviction", "nodelifecycle",
}

// Mini lists the files of mini, in the order of the chapters.
func Mini() (files []string) {
	for _, name := range miniOrder {
		files = append(files, path.Join(miniDir, name+".go"))
	}
	return files
}

// laterThan returns the files of mini that come after file, tests too.
func (r *Repo) laterThan(file string) (later []string, err error) {
	at := slices.Index(r.Order, strings.TrimSuffix(path.Base(file), ".go"))
	if at < 0 {
		return nil, fmt.Errorf("%s is not in the order of mini's files", file)
	}
	for _, name := range r.Order[at+1:] {
		for _, ending := range []string{".go", "_test.go", "_bench_test.go", "_figure_test.go"} {
			if f := path.Join(miniDir, name+ending); r.has(f) {
				later = append(later, f)
			}
		}
	}
	return later, nil
}

// miniTable lists the files of mini in order, with their lines without comments and blanks, and
// the chapters that build them.
func (d *document) miniTable() (string, error) {
	t := table{header: []string{"", "File", "Lines", "Chapter"}}
	all := 0
	for i, name := range d.repo.Order {
		file := path.Join(miniDir, name+".go")
		source, err := d.repo.read(file)
		if err != nil {
			return "", fmt.Errorf("counting the lines of mini: %w", err)
		}
		lines := linesOfCode(string(source))
		all += lines
		chapter := ""
		for _, c := range d.chapters {
			if c.File == file || slices.Contains(c.Also, file) {
				chapter = fmt.Sprintf("[%d. %s](%s)", c.Number, c.Title, d.relative(c.Readme()))
			}
		}
		t.add(fmt.Sprint(i+1), fmt.Sprintf("[%s.go](%s)", name, d.relative(file)), fmt.Sprint(lines), chapter)
	}
	t.add("", "", fmt.Sprint(all), "")
	return t.Markdown(), nil
}

// linesOfCode counts the lines that are neither blank nor a comment.
func linesOfCode(source string) (n int) {
	for line := range strings.SplitSeq(source, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
