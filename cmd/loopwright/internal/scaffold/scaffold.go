// Package scaffold writes a new project: an API type, its controller, tests, manifests and a
// Makefile, which a team then changes as it likes.
//
// Options -> project: the names that the templates use -> files in memory -> a directory. A project
// is written whole or not at all, and no file that exists is overwritten. After that, Complete lets
// the go command and make fill in what is made from the text: go.sum, deep copies, CRDs.
//
// Above it is the command cmd/loopwright. It stands on nothing of this repository.
package scaffold

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// templates/project has what a project has once, and templates/kind what it has for each kind: kind
// in the name of a file stands for the name of the kind. What has webhook in its name is for
// projects with webhooks.
//
//go:embed all:templates
var templates embed.FS

// Options say what to write.
type Options struct {
	// Dir is the folder of the project. It may exist if it is empty.
	Dir string
	// Module is the module path, such as example.com/shop.
	Module string
	// Kind is the name of the first kind, such as Shop.
	Kind string
	// Group is the API group; the default is made of the module path: shop.example.com.
	Group string
	// Webhooks adds a defaulting and a validating webhook for each kind.
	Webhooks bool
	// ControllerRuntime writes the import paths of controller-runtime.
	ControllerRuntime bool
	// Version is that of Loopwright that go.mod requires. It is not needed with Replace.
	Version string
	// Replace is a checkout of Loopwright, for a replace directive in go.mod.
	Replace string
}

// New writes a project, which Complete has to make complete. It reports on out what it does.
//
// Errors: New checks the options before it writes anything.
func New(options Options, out io.Writer) error {
	p, err := newProject(options)
	if err != nil {
		return err
	}
	files, err := p.render("project")
	if err != nil {
		return err
	}
	ofKind, err := p.render("kind")
	if err != nil {
		return err
	}
	maps.Copy(files, ofKind)
	if err := checkEmpty(options.Dir); err != nil {
		return err
	}
	if err := writeNew(options.Dir, files); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Wrote %d files to %s.\n", len(files), options.Dir)
	return nil
}

// render returns the files of a folder of templates, by their paths in the project.
func (p *project) render(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	root := path.Join("templates", folder)
	err := fs.WalkDir(templates, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		target := strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ".tmpl")
		if strings.Contains(target, "webhook") && !p.Webhooks {
			return nil
		}
		if folder == "kind" {
			target = strings.Replace(target, "kind", p.Lower, 1)
		}
		files[target], err = p.execute(name)
		return err
	})
	return files, err
}

// execute fills a template in, and formats Go.
func (p *project) execute(name string) ([]byte, error) {
	parsed, err := template.ParseFS(templates, name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, p); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".go.tmpl") {
		return text.Bytes(), nil
	}
	formatted, err := format.Source(text.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s is not Go with these names: %w", name, err)
	}
	return formatted, nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("looking at the folder of the project: %w", err)
	}
	return fmt.Errorf("%s is not empty, and nothing is overwritten: name a folder that is not there yet", dir)
}

// writeNew writes files that are not there yet: all of them, or none.
func writeNew(dir string, files map[string][]byte) error {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s is there already, and nothing is overwritten", filepath.Join(dir, name))
		}
	}
	for i, name := range names {
		if err := writeFile(filepath.Join(dir, name), files[name]); err != nil {
			for _, written := range names[:i] {
				err = errors.Join(err, os.Remove(filepath.Join(dir, written)))
			}
			return err
		}
	}
	return nil
}

func writeFile(name string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(text)
	return err
}

// Complete makes what is made from the text of a project: the rest of each go.mod, and with `make
// generate` the deep copies, CRDs and rights. It needs the network for modules that the module
// cache does not have.
func Complete(ctx context.Context, dir string, out io.Writer) error {
	for _, step := range []struct{ says, command, on string }{
		{"Asking the go command for the modules: up to 2 minutes, if it has to download them.",
			"go mod tidy", "without a network, try again later"},
		{"Asking it for those of the tools: up to a minute.", "go -C tools mod tidy", "without a network, try again later"},
		{"Making deep copies, CRDs and rights.", "make generate", "it needs make"},
	} {
		_, _ = fmt.Fprintln(out, step.says)
		words := strings.Fields(step.command)
		command := exec.CommandContext(ctx, words[0], words[1:]...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOWORK=off")
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		command.Stdout, command.Stderr = out, out // "go: downloading ..." shows that something is going on
		if err := command.Run(); err != nil {
			return fmt.Errorf("the files are written, but `%s` failed: %w (%s). What it said is above. In %s, "+
				"`go mod tidy && go -C tools mod tidy && make generate` does what is left",
				step.command, err, step.on, dir)
		}
	}
	return nil
}
