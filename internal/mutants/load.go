package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tree is a package under test: its files without the tests, parsed and checked.
type tree struct {
	root string // of the module, absolute
	dir  string // of the package, relative to root
	path string // its import path

	fset     *token.FileSet
	text     map[string][]byte // by the file's name, relative to root
	files    map[string]*ast.File
	importer types.Importer
	info     *types.Info
	types    *types.Package
	hollow   map[string]*ast.File // the files without their functions' bodies
}

// load reads a package. The go command compiles what it imports, and leaves the
// types of that in its cache, from where they are read.
func load(ctx context.Context, root, dir string) (*tree, error) {
	out, err := goCommand(ctx, root, "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles",
		"./"+dir, "os", "strconv", "sync/atomic", "syscall") // the last four are for the helper
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, dir: dir, fset: token.NewFileSet(),
		text: map[string][]byte{}, files: map[string]*ast.File{}, hollow: map[string]*ast.File{}}
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list says about %s: %w", dir, err)
		}
		exports[p.ImportPath] = p.Export
		if p.Dir != filepath.Join(root, filepath.FromSlash(dir)) {
			continue
		}
		t.path = p.ImportPath
		for _, name := range p.GoFiles {
			if err := t.parse(path.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	t.importer = importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	info, pkg, hard, soft := t.check(nil)
	if err := errors.Join(slices.Concat(hard, soft)...); err != nil {
		return nil, fmt.Errorf("checking the types of %s: %w", dir, err)
	}
	t.info, t.types = info, pkg
	return t, nil
}

func (t *tree) parse(name string) error {
	text, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("reading the code under test: %w", err)
	}
	file, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parsing the code under test: %w", err)
	}
	t.text[name], t.files[name] = text, file
	hollow, err := parser.ParseFile(t.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parsing the code under test: %w", err)
	}
	for _, d := range hollow.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			end := &ast.ExprStmt{X: &ast.CallExpr{Fun: ast.NewIdent("panic"), Args: []ast.Expr{ast.NewIdent("nil")}}}
			f.Body = &ast.BlockStmt{Lbrace: f.Body.Lbrace, List: []ast.Stmt{end}, Rbrace: f.Body.Rbrace}
		}
	}
	t.hollow[name] = hollow
	return nil
}

// check checks the types of the package, or, with other text in place of some files, those
// files only: the others count without the bodies of their functions. Soft errors are those that
// only say that something is not used.
func (t *tree) check(replaced map[string]string) (info *types.Info, pkg *types.Package, hard, soft []error) {
	var files []*ast.File
	all := map[string]bool{}
	for name := range t.files {
		all[name] = true
	}
	for name := range replaced {
		all[name] = true
	}
	for _, name := range sorted(all) {
		file := t.files[name]
		if len(replaced) > 0 {
			file = t.hollow[name]
		}
		if text, ok := replaced[name]; ok {
			var err error
			if file, err = parser.ParseFile(t.fset, name, text, parser.SkipObjectResolution); err != nil {
				return nil, nil, []error{err}, nil
			}
		}
		files = append(files, file)
	}
	conf := types.Config{Importer: t.importer, Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) {
			hard = append(hard, err)
			return
		}
		if _, ok := replaced[t.fset.Position(e.Pos).Filename]; !ok && len(replaced) > 0 {
			return // a hollow file does not use its imports
		}
		if e.Soft {
			soft = append(soft, err)
		} else {
			hard = append(hard, err)
		}
	}}
	info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	pkg, _ = conf.Check(t.path, t.fset, files, info) // its errors went to conf.Error
	return info, pkg, hard, soft
}

// typeText writes a type as this file would; false if it cannot, because the
// file does not import the package, or the name is not exported.
func (t *tree) typeText(file *ast.File, typ types.Type) (string, bool) {
	ok := typ != nil
	if !ok {
		return "", false
	}
	text := types.TypeString(types.Default(typ), func(p *types.Package) string {
		if p == t.types {
			return ""
		}
		for _, spec := range file.Imports {
			if strings.Trim(spec.Path.Value, `"`) != p.Path() {
				continue
			}
			if spec.Name != nil {
				return spec.Name.Name
			}
			return p.Name()
		}
		ok = false
		return p.Name()
	})
	return text, ok
}
