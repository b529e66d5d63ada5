package course

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// TestPrograms runs the tests below chapters/, most of them in one test binary, because linking 80 of
// them takes far longer than running them. It copies each program into a package with a name of its own,
// and writes a test that calls theirs, each in its own directory. A failure shows the program's name, and
// the lines of the real files.
//
// Programs with a TestMain, with tests in another package or with embedded files keep their own binary.
//
// The flags are go test's. Errors: the go command's, after it has said what failed.
func (r *Repo) TestPrograms(ctx context.Context, w io.Writer, flags ...string) error {
	programs, alone, err := r.programs(ctx)
	if err != nil {
		return err
	}
	overlay, added := Overlay{}, map[string]string{}
	write := func(at string, text []byte) error {
		overlay[at], added[at] = path.Join(stateDir, "together", at), ""
		return r.writeState(overlay[at], text)
	}
	for i := range programs {
		if err := r.copyProgram(&programs[i], write); err != nil {
			return err
		}
	}
	if err := write("chapters/all_test.go", r.testOfAll(programs)); err != nil {
		return err
	}
	file, done, err := overlay.write(r, added)
	if err != nil {
		return err
	}
	defer done()
	args := []string{"test", "-count=1", "-timeout=30m", "-vet=off", "-ldflags=-s", "-overlay=" + file}
	args = append(append(args, flags...), "./chapters")
	for _, p := range alone {
		args = append(args, p.ImportPath)
	}
	return r.goRun(ctx, w, args...)
}

// program is a package below chapters/ that has tests, as go list describes it.
type program struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	EmbedPatterns, TestEmbedPatterns   []string

	name  string   // of the package that it's copied to
	tests []string // the names of its tests
}

// programs returns those that can share a binary, and those that can't.
func (r *Repo) programs(ctx context.Context) (together, alone []program, err error) {
	listed, err := r.goOutput(ctx, "list", "-json", "./chapters/...")
	if err != nil {
		return nil, nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); decoder.More(); {
		var p program
		if err := decoder.Decode(&p); err != nil {
			return nil, nil, fmt.Errorf("reading what go list says: %w", err)
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		if err := p.readTests(); err != nil {
			return nil, nil, err
		}
		p.name = "program" + notInNames.ReplaceAllString(strings.TrimPrefix(p.ImportPath, r.Module+"/chapters"), "_")
		if slices.Contains(p.tests, "TestMain") || len(p.XTestGoFiles)+len(p.EmbedPatterns)+len(p.TestEmbedPatterns) > 0 {
			alone = append(alone, p)
		} else {
			together = append(together, p)
		}
	}
	return together, alone, nil
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]`)

func (p *program) readTests() error {
	for _, name := range p.TestGoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, isFunc := declaration.(*ast.FuncDecl)
			if isFunc && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				p.tests = append(p.tests, f.Name.Name)
			}
		}
	}
	return nil
}

// copyProgram writes the files of a program, tests too, as those of a package that can be imported.
func (r *Repo) copyProgram(p *program, write func(at string, text []byte) error) error {
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles) {
		from, err := filepath.Rel(r.Root, filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		text, err := r.read(filepath.ToSlash(from))
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		clause := files.Position(file.Name.Pos()).Offset
		copied := fmt.Appendf(nil, "//line %s:1:1\n%s%s%s", filepath.Join(p.Dir, name), text[:clause], p.name, text[clause+len(file.Name.Name):])
		to := strings.TrimSuffix(name, "_test.go")
		if to != name {
			to += "_tests.go" // the go command builds it, and calls nothing in it
		}
		if err := write(path.Join("chapters", p.name, to), copied); err != nil {
			return err
		}
	}
	return nil
}

// testOfAll is the test that calls those of the programs.
func (r *Repo) testOfAll(programs []program) []byte {
	var imports, calls strings.Builder
	for _, p := range programs {
		fmt.Fprintf(&imports, "\t%q\n", r.Module+"/chapters/"+p.name)
		fmt.Fprintf(&calls, "\nfunc Test_%s(t *testing.T) {\n\tt.Chdir(%q)\n", p.name, p.Dir)
		for _, test := range p.tests {
			fmt.Fprintf(&calls, "\tt.Run(%q, %s.%s)\n", test, p.name, test)
		}
		calls.WriteString("}\n")
	}
	return fmt.Appendf(nil, "package chapters\n\nimport (\n\t\"testing\"\n\n%s)\n%s", &imports, &calls)
}
