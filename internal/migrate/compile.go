package migrate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// compileLimit is how long a module may take. The first compilation of Kubernetes' packages takes minutes on a
// small machine.
const compileLimit = 15 * time.Minute

// Check compiles what the plan makes, tests too, in a directory that holds the tree: the old one, or the new one.
// After that Problems has what the compiler says, with our reasons, and what is in files that the compiler skips,
// because of a build tag for example. Skipped has the names of these files. It writes nothing there: go.mod is a copy elsewhere, to which the go command
// adds what `go mod tidy` would add.
//
// Before it compiles a module, it calls library for each library that goes on to import controller-runtime.
//
// Where that is not possible, because a module cannot be had or there is no go.mod, Unchecked says why, and
// Problems stays as Make left it.
func (p *Plan) Check(ctx context.Context, dir string, library func(Problem)) {
	if p.Unchecked != nil {
		return
	}
	dir, err := filepath.Abs(dir)
	all := &compiled{root: dir, names: p.names, files: map[string]bool{}}
	for _, name := range p.modules {
		if err == nil {
			err = p.compile(ctx, all, name, library)
		}
	}
	if err != nil {
		p.Unchecked = err
		return
	}
	p.Problems = all.explained(append(p.Problems, all.members...))
	p.Skipped = slices.DeleteFunc(slices.Clone(p.users), func(name string) bool { return all.files[name] })
}

// compile type-checks the packages of the module whose go.mod has this name.
func (p *Plan) compile(ctx context.Context, all *compiled, goMod string, library func(Problem)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, compileLimit, fmt.Errorf("the go command took more than %s", compileLimit))
	defer cancel()
	aside, err := os.MkdirTemp("", "port-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(aside) }()
	config, err := p.buildConfig(all.root, goMod, aside)
	if err != nil {
		return err
	}
	config.Context = ctx
	libraries, err := resolve(config, aside)
	if err != nil {
		return fmt.Errorf("%s: %w", goMod, errors.Join(context.Cause(ctx), err))
	}
	for _, name := range libraries {
		library(Problem{At: token.Position{Filename: goMod}, What: "the library " + name + " imports controller-runtime", Why: "what it takes or returns is of other " +
			"types than this library's; with the drop-in it is the same, and nothing is ported: see `loopwright try`"})
	}
	list, err := packages.Load(config, "./...")
	if err := errors.Join(context.Cause(ctx), err); err != nil {
		return fmt.Errorf("%s: %w", goMod, err)
	}
	for _, loaded := range list {
		all.add(loaded)
	}
	return nil
}

// buildConfig says how the go command sees the tree as it will be: with the text of the files that change, and with
// a go.mod that it may complete.
func (p *Plan) buildConfig(root, goMod, aside string) (*packages.Config, error) {
	overlay := map[string][]byte{}
	for _, c := range p.Changes {
		overlay[filepath.Join(root, filepath.FromSlash(c.Name))] = c.After
	}
	at := filepath.Join(root, filepath.FromSlash(goMod))
	text, changed := overlay[at]
	if !changed {
		var err error
		if text, err = os.ReadFile(at); err != nil {
			return nil, err
		}
	}
	sums, err := os.ReadFile(strings.TrimSuffix(at, ".mod") + ".sum")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	copied := filepath.Join(aside, "go.mod")
	return &packages.Config{
		Dir: filepath.Dir(at), Tests: true, Overlay: overlay,
		Env:        append(os.Environ(), "GOWORK=off"), // a go.work does not go together with -modfile
		BuildFlags: []string{"-buildvcs=false", "-mod=mod", "-modfile=" + copied},
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
	}, errors.Join(os.WriteFile(copied, text, 0o600), os.WriteFile(filepath.Join(aside, "go.sum"), sums, 0o600))
}

// resolve has the go command find every package that is imported, and complete go.mod. The compiler is not asked
// before that: what it says of packages that it cannot find is not to be done by hand. It returns the modules, with their
// versions, that import controller-runtime and are none of the tree's.
func resolve(config *packages.Config, aside string) (libraries []string, err error) {
	var replace struct{ Replace map[string]string }
	replace.Replace = map[string]string{}
	for name, text := range config.Overlay {
		to := filepath.Join(aside, strconv.Itoa(len(replace.Replace)))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return nil, err
		}
		replace.Replace[name] = to
	}
	text, err := json.Marshal(replace)
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(aside, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return nil, err
	}
	const libraryAndImports = `{{with .Module}}{{if .Version}}{{.Path}} {{.Version}} {{join $.Imports " "}}{{end}}{{end}}`
	arguments := append([]string{"list", "-deps", "-test", "-overlay=" + overlay, "-f", libraryAndImports}, config.BuildFlags...)
	command := exec.CommandContext(config.Context, "go", append(arguments, "./...")...)
	command.Dir, command.Env = config.Dir, config.Env
	var listed, said bytes.Buffer
	command.Stdout, command.Stderr = &listed, &said
	if err := command.Run(); err != nil {
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(said.String()), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "go: downloading ")
		})
		if len(lines) > 1 { // as a rule, the same of one import after the other
			return nil, fmt.Errorf("%s (and %d more lines)", lines[0], len(lines)-1)
		}
		return nil, errors.New(cmp.Or(strings.Join(lines, ""), err.Error()))
	}
	for line := range strings.Lines(listed.String()) {
		words := strings.Fields(line)
		if len(words) > 2 && words[0] != ControllerRuntime.TheirRoot && slices.ContainsFunc(words[2:], ControllerRuntime.IsTheirs) {
			libraries = append(libraries, words[0]+" "+words[1])
		}
	}
	slices.Sort(libraries)
	return slices.Compact(libraries), nil
}

// compiled is what the compiler says about a tree.
type compiled struct {
	root    string
	names   *Names
	files   map[string]bool // what it has seen, by their names in the tree
	errors  []Problem
	members []Problem // fields and methods that differ here or are missing
}

func (c *compiled) add(p *packages.Package) {
	for _, name := range p.GoFiles {
		c.files[c.relative(name)] = true
	}
	for _, e := range p.TypeErrors {
		if strings.HasPrefix(e.Msg, "\t") { // it belongs to the one before
			continue
		}
		c.errors = append(c.errors, Problem{At: c.position(e.Fset, e.Pos), What: strings.Join(strings.Fields(e.Msg), " ")})
	}
	for _, syntax := range p.Syntax {
		c.findMembers(p, syntax)
	}
}

func (c *compiled) position(set *token.FileSet, pos token.Pos) token.Position {
	at := set.PositionFor(pos, false) // not what a //line comment says
	at.Filename = c.relative(at.Filename)
	return at
}

func (c *compiled) relative(name string) string {
	if relative, err := filepath.Rel(c.root, name); err == nil {
		name = relative
	}
	return filepath.ToSlash(name)
}

// findMembers lists the fields and methods of our types that differ from theirs.
func (c *compiled) findMembers(p *packages.Package, syntax *ast.File) {
	look := func(of types.Type, member *ast.Ident) {
		if of == nil {
			return
		}
		if pointer, ok := types.Unalias(of).(*types.Pointer); ok {
			of = pointer.Elem()
		}
		named, ok := types.Unalias(of).(*types.Named)
		if !ok || named.Obj().Pkg() == nil {
			return
		}
		in := c.names.findOurs(named.Obj().Pkg().Path())
		if in == nil {
			return
		}
		name := named.Obj().Name() + "." + member.Name
		if lack := in.lacks(name); lack != nil {
			c.members = append(c.members, Problem{At: c.position(p.Fset, member.Pos()), What: in.Name + "." + name, Why: lack.Why, Compiles: lack.Compiles})
		}
	}
	for node := range ast.Preorder(syntax) {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			look(p.TypesInfo.TypeOf(node.X), node.Sel)
		case *ast.CompositeLit:
			for _, element := range node.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					if field, ok := pair.Key.(*ast.Ident); ok {
						look(p.TypesInfo.TypeOf(node), field)
					}
				}
			}
		}
	}
}

// explained gives the errors the reasons that were found for their lines. What was found in a file that compiles
// needs nothing.
func (c *compiled) explained(found []Problem) []Problem {
	explains := map[Problem]bool{}
	for i := range c.errors {
		said := &c.errors[i]
		for _, f := range found {
			name := f.What[strings.LastIndex(f.What, ".")+1:]
			if f.At.Filename == said.At.Filename && f.At.Line == said.At.Line && strings.Contains(said.What, name) {
				said.Why, explains[f] = f.Why, true
				break
			}
		}
	}
	all := c.errors
	for _, f := range found {
		if !explains[f] {
			f.Compiles = f.Compiles || c.files[f.At.Filename]
			all = append(all, f)
		}
	}
	return sortProblems(all)
}
