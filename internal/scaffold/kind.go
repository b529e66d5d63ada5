package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/modfile"
)

// listFile is a file that has a line for each kind.
type listFile struct {
	name, template string
	// lines are what a kind adds to it.
	lines func(p *project) string
}

var listFiles = []listFile{
	{"internal/app/kinds.go", "templates/project/internal/app/kinds.go.tmpl", func(p *project) string {
		text := fmt.Sprintf("(&controller.%sReconciler{Catalog: s.CatalogNamespace}).SetupWithManager(mgr),", p.Kind)
		if p.Webhooks {
			text += fmt.Sprintf("\nwebhook.Setup%s(mgr),", p.Kind)
		}
		return text
	}},
	{"config/kustomization.yaml", "templates/project/config/kustomization.yaml.tmpl", func(p *project) string {
		return fmt.Sprintf("- crd/%s_%s.yaml", p.Group, p.Plural)
	}},
}

// AddKind adds the files of one more kind to the project in a directory. Complete has to follow. It
// changes a list of kinds only if that is still as it was written. Otherwise it says on out which
// lines are to be added by hand.
func AddKind(dir, kind string, out io.Writer) error {
	p, err := readProject(dir)
	if err != nil {
		return err
	}
	added, err := namesOf(kind)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.Kinds, func(n names) bool { return n.Lower == added.Lower }) {
		return fmt.Errorf("the project has the kind %s already", kind)
	}
	before := *p
	p.names, p.Kinds = added, append(slices.Clone(p.Kinds), added)
	files, err := p.render("kind")
	if err != nil {
		return err
	}
	if err := writeNew(dir, files); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Wrote %d files for the kind %s.\n", len(files), kind)
	for _, list := range listFiles {
		if err := list.extend(dir, &before, p, out); err != nil {
			return err
		}
	}
	return nil
}

// extend writes a list with one more kind, if it is as the templates write it without that kind.
func (l listFile) extend(dir string, before, after *project, out io.Writer) error {
	name := filepath.Join(dir, l.name)
	was, err := before.execute(l.template)
	if err != nil {
		return err
	}
	is, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(was, is) {
		_, _ = fmt.Fprintf(out, "%s was changed by hand, so it is left as it is. Add to it:\n%s\n", l.name, l.lines(after))
		return nil
	}
	text, err := after.execute(l.template)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o666)
}

var (
	groupInAPI  = regexp.MustCompile(`(?m)^// \+groupName=(\S+)$`)
	reconcilers = regexp.MustCompile(`controller\.(\w+)Reconciler\{`)
	kindsFile   = "internal/app/kinds.go"
)

// readProject finds out what New was told when it wrote the project in a directory. There is no
// file for it: the project itself says it.
func readProject(dir string) (*project, error) {
	text := map[string][]byte{}
	for _, name := range []string{"go.mod", "api/v1/groupversion_info.go", kindsFile} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("this is not the folder of a project of `loopwright new`: %w", err)
		}
		text[name] = content
	}
	mod, err := modfile.ParseLax("go.mod", text["go.mod"], nil)
	if err != nil {
		return nil, err
	}
	group := groupInAPI.FindSubmatch(text["api/v1/groupversion_info.go"])
	if mod.Module == nil || group == nil {
		return nil, errors.New("go.mod names no module, or api/v1/groupversion_info.go has no line // +groupName=")
	}
	p := &project{Module: mod.Module.Mod.Path, Group: string(group[1])}
	p.ControllerRuntime = bytes.Contains(text[kindsFile], []byte(`"`+theirs+`"`))
	_, err = os.Stat(filepath.Join(dir, "internal", "webhook"))
	p.Webhooks = err == nil
	for _, found := range reconcilers.FindAllSubmatch(text[kindsFile], -1) {
		kind, err := namesOf(string(found[1]))
		if err != nil {
			return nil, err
		}
		p.Kinds = append(p.Kinds, kind)
	}
	return p, p.derive()
}
