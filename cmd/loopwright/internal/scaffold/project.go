package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const (
	ours   = "github.com/loopwright/loopwright"
	theirs = "sigs.k8s.io/controller-runtime"
)

// project has the names that the templates use. Those of names are about the kind that is being
// written.
type project struct {
	names
	Module            string
	Name              string // of the program, and of what it has in a cluster
	Group             string
	PathGroup         string // the group in the path of a webhook
	Webhooks          bool
	ControllerRuntime bool
	Library           string // the import path of the library
	Packages          string // what the import paths of its packages begin with
	Version           string // of Loopwright
	Replace           string // the checkout, as go.mod writes it
	Commit            string // of the checkout; "" if it has none
	Kinds             []names
}

// names are the forms of the name of a kind.
type names struct {
	Kind   string // Shop
	Lower  string // shop
	Plural string // shops
	Var    string // shop, or another name where that would hide something
}

func newProject(o Options) (*project, error) {
	if err := module.CheckPath(o.Module); o.Module == "" || err != nil && strings.Contains(o.Module, "/") {
		return nil, fmt.Errorf("--module %q is not a module path, such as example.com/shop: %w", o.Module, err)
	} else if err != nil {
		return nil, fmt.Errorf("--module %q has no host, such as example.com/shop: %w", o.Module, err)
	}
	if o.Module == ours || o.Module == theirs {
		return nil, fmt.Errorf("--module %s is the library itself", o.Module)
	}
	p := &project{Module: o.Module, Group: o.Group, Webhooks: o.Webhooks, ControllerRuntime: o.ControllerRuntime}
	if o.Group == "" {
		group, err := groupOf(o.Module)
		if err != nil {
			return nil, err
		}
		p.Group = group
	}
	if err := p.requires(o); err != nil {
		return nil, err
	}
	kind, err := namesOf(o.Kind)
	if err != nil {
		return nil, err
	}
	p.Kinds = []names{kind}
	p.names = kind
	return p, p.derive()
}

// requires says where go.mod finds Loopwright.
func (p *project) requires(o Options) error {
	p.Version = o.Version
	if o.Replace != "" {
		to, err := filepath.Abs(o.Replace)
		if err != nil {
			return err
		}
		mod, err := os.ReadFile(filepath.Join(to, "go.mod"))
		if err != nil || modfile.ModulePath(mod) != ours {
			return fmt.Errorf("--replace %s is not a checkout of %s", o.Replace, ours)
		}
		if p.Replace, err = replacement(o.Dir, to); err != nil {
			return err
		}
		p.Commit = commitOf(to)
		p.Version = "v0.0.0-00010101000000-000000000000" // what the go command writes for a module that is replaced
		return nil
	}
	if o.Version == "" {
		return errors.New("this program was not installed from a release, so it does not know which version " +
			"to require: name one with --version, or a checkout with --replace")
	}
	if semver.Canonical(o.Version) != o.Version {
		return fmt.Errorf("--version %q is not a version: versions look like v1.2.3", o.Version)
	}
	return nil
}

// commitOf is the commit of a checkout, or "" if it is not the top of a git repository: it may have been unpacked from
// an archive, into the repository of something else.
func commitOf(checkout string) string {
	said, err := exec.Command("git", "-C", checkout, "rev-parse", "--show-prefix", "HEAD").Output()
	commit, isTop := strings.CutPrefix(string(said), "\n") // at the top, the prefix is an empty line
	if err != nil || !isTop {
		return ""
	}
	return strings.TrimSpace(commit)
}

// replacement is how the go.mod of a project names a checkout. A relative path stays right when both
// are moved, and on a machine that has both. It is absolute where the two have nothing in common but
// the root, or are on different volumes: then ".." would gain nothing. It is absolute, too, where
// ".." depends on how a program has come to the project, because there is a symbolic link above it.
func replacement(dir, checkout string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(dir, checkout)
	resolved, _ := filepath.Rel(resolve(dir), resolve(checkout))
	fromRoot := strings.TrimPrefix(checkout, filepath.VolumeName(checkout))
	if err != nil || relative != resolved || strings.HasSuffix(relative, fromRoot) {
		return modfile.AutoQuote(checkout), nil
	}
	return modfile.AutoQuote(filepath.ToSlash(relative)), nil
}

// resolve follows the symbolic links in a path, of which the end may not be there yet.
func resolve(name string) string {
	resolved, err := filepath.EvalSymlinks(name)
	if parent := filepath.Dir(name); err != nil && parent != name {
		return filepath.Join(resolve(parent), filepath.Base(name))
	}
	return resolved
}

// derive fills in what follows from the module and the group.
func (p *project) derive() error {
	if !subdomain.MatchString(p.Group) || len(p.Group) > 180 {
		return fmt.Errorf("--group %q is not an API group: it is a domain in lower case, such as shop.example.com", p.Group)
	}
	if p.Group == "k8s.io" || strings.HasSuffix(p.Group, ".k8s.io") || strings.HasSuffix(p.Group, ".kubernetes.io") {
		return fmt.Errorf("--group %s is reserved for Kubernetes: take a domain of your own", p.Group)
	}
	p.Name = nameOf(p.Module)
	if !startsWithLetter.MatchString(p.Name) || p.Name == "kube" {
		return fmt.Errorf("--module %s: its last part names the program and its namespace, and %q does not fit: "+
			"it has to begin with a letter, and kube-system is taken", p.Module, p.Name)
	}
	p.PathGroup = strings.ReplaceAll(p.Group, ".", "-")
	p.Library, p.Packages = ours, ours+"/manager"
	if p.ControllerRuntime {
		p.Library, p.Packages = theirs, theirs+"/pkg"
	}
	return nil
}

var startsWithLetter = regexp.MustCompile(`^[a-z]`)

var subdomain = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z]([-a-z0-9]*[a-z0-9])?$`)

// groupOf makes an API group of a module path: shop.example.com of example.com/shop. A group should
// be a domain of its owner's, and hosts of many people's code are not.
func groupOf(path string) (string, error) {
	host, _, _ := strings.Cut(path, "/")
	if slices.Contains([]string{"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"}, host) {
		return "", fmt.Errorf("--group is missing: %s is not your domain, so the module path does not say which "+
			"API group to take. Name one, such as --group %s.example.com", host, nameOf(path))
	}
	if name := nameOf(path); name != host {
		return name + "." + host, nil
	}
	return host, nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf makes the name of the program, and of its namespace, of a module path.
func nameOf(modulePath string) string {
	prefix, _, _ := module.SplitPathVersion(modulePath)
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(path.Base(prefix)), "-"), "-")
	if len(name) > 40 {
		name = strings.Trim(name[:40], "-")
	}
	return name
}

var (
	notTypes = regexp.MustCompile(`(List|Spec|Status)$`)
	kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	// taken are the names in package v1 that are not of a kind.
	taken = []string{"GroupVersion", "SchemeBuilder", "AddToScheme"}
	// hidden are the names that functions in the templates use, besides those of Go itself.
	hidden = []string{
		"api", "apierrors", "builder", "client", "context", "controllerutil", "corev1", "ctrl", "equality", "field", "fmt",
		"handler", "meta", "metav1", "predicate", "recorder", "strings", "types", "admission", "errors", "testing",
		"before", "catalog", "claim", "config", "create", "ctx", "did", "entry", "err", "eventually", "failed", "k8sClient",
		"kind", "key", "own", "patch", "poll", "problem", "r", "ready", "register", "remove", "req", "seen", "t", "theirs", "time", "v", "want",
	}
)

// namesOf checks the name of a kind, and makes its other forms.
func namesOf(kind string) (names, error) {
	lower := strings.ToLower(kind)
	switch {
	case !kindName.MatchString(kind):
		return names{}, fmt.Errorf("%q is not the name of a kind: it begins with a capital letter, and has letters and digits, such as Shop", kind)
	case len(kind) > 40:
		return names{}, fmt.Errorf("%q is too long for a kind: it may have 40 letters", kind)
	case notTypes.MatchString(kind):
		return names{}, fmt.Errorf("%q ends as the Go type of a list, a spec or a status does: take another name", kind)
	case slices.Contains(taken, kind):
		return names{}, fmt.Errorf("%q is the name of something else in package v1: take another name", kind)
	}
	variable := strings.ToLower(kind[:1]) + kind[1:]
	if token.IsKeyword(variable) || types.Universe.Lookup(variable) != nil || slices.Contains(hidden, variable) {
		variable = "object"
	}
	return names{Kind: kind, Lower: lower, Plural: plural(lower), Var: variable}, nil
}

// plural is what English does with most words. It is in a marker above the type, where an exception
// can be written.
func plural(word string) string {
	ends := func(with ...string) bool {
		return slices.ContainsFunc(with, func(end string) bool { return strings.HasSuffix(word, end) })
	}
	switch {
	case ends("s", "x", "z", "ch", "sh"):
		return word + "es"
	case ends("y") && !ends("ay", "ey", "oy", "uy"):
		return strings.TrimSuffix(word, "y") + "ies"
	}
	return word + "s"
}
