package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/modfile"
)

// AddKind adds the files of one more kind to the project in a directory, and its lines to the two
// lists of kinds. Complete has to follow. Where a list was changed by hand in a way that leaves no
// place for a line, AddKind says on out what is to be added.
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
	if err := extendKinds(dir, &before, p, out); err != nil {
		return err
	}
	return extendKustomization(dir, p, out)
}

// extendKinds writes the list of kinds in Go with one more kind, if it is as the template writes it
// without that kind.
func extendKinds(dir string, before, after *project, out io.Writer) error {
	const template = "templates/project/" + kindsFile + ".tmpl"
	name := filepath.Join(dir, kindsFile)
	was, err := before.execute(template)
	if err != nil {
		return err
	}
	is, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(was, is) {
		lines := fmt.Sprintf("(&controller.%sReconciler{Catalog: s.CatalogNamespace})."+
			"SetupWithManager(mgr),\n", after.Kind)
		if after.Webhooks {
			lines += fmt.Sprintf("webhook.Setup%s(mgr),\n", after.Kind)
		}
		_, _ = fmt.Fprintf(out, "%s was changed by hand, so it is left as it is. Add to it:\n%s",
			kindsFile, lines)
		return nil
	}
	text, err := after.execute(template)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o666)
}

var (
	groupInAPI  = regexp.MustCompile(`(?m)^// \+groupName=(\S+)$`)
	reconcilers = regexp.MustCompile(`controller\.(\w+)Reconciler\{`)
)

const kindsFile = "internal/app/kinds.go"

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
