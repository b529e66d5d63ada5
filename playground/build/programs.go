package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// here is where the programs' packages are, for the go command.
const here = "playground/stories"

// notInMemory are programs whose test needs more than an API server in memory, with the reason.
var notInMemory = map[string]string{
	"17-webhook":          "a real API server calls its webhook, over TLS; the one in memory calls none",
	"18-defaulting":       "the same",
	"18-defaulting/naive": "the same",
	"16-apply":            "the one in a page notes no owners of fields: structured-merge-diff is too large for it",
	"19-testing":          "it plays its days in bubbles of testing/synctest, which only a test has",
}

// testFunction finds the function that becomes a program.
var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{`)

var packageClause = regexp.MustCompile(`(?m)^package main$`)

// programs writes each chapter's programs as packages into a directory, and adds them to an overlay:
// path in the tree -> file. It returns their names.
func programs(root, dir string, overlay map[string]string) (names []string, err error) {
	mains, err := filepath.Glob(filepath.Join(root, "chapters", "[0-9]*", "main.go"))
	if err != nil {
		return nil, err
	}
	naive, err := filepath.Glob(filepath.Join(root, "chapters", "[0-9]*", "naive", "main.go"))
	if err != nil {
		return nil, err
	}
	var registry strings.Builder
	registry.WriteString("package stories\n\nimport (\n")
	var calls strings.Builder
	all := append(mains, naive...)
	slices.Sort(all)
	for _, main := range all {
		name, err := filepath.Rel(filepath.Join(root, "chapters"), filepath.Dir(main))
		if err != nil {
			return nil, err
		}
		name = filepath.ToSlash(name)
		if notInMemory[name] != "" {
			continue
		}
		pkg := "p" + strings.NewReplacer("-", "", "/", "_").Replace(name)
		test, err := program(filepath.Dir(main), pkg, filepath.Join(root, here, pkg), filepath.Join(dir, pkg), overlay)
		if err != nil {
			return nil, fmt.Errorf("chapters/%s: %w", name, err)
		}
		fmt.Fprintf(&registry, "\t%q\n", "github.com/loopwright/loopwright/"+here+"/"+pkg)
		fmt.Fprintf(&calls, "\tadd(%q, %s.%s)\n", name, pkg, test)
		names = append(names, name)
	}
	registry.WriteString(")\n\nfunc init() {\n" + calls.String() + "}\n")
	file := filepath.Join(dir, "registry.go")
	overlay[filepath.Join(root, here, "registry.go")] = file
	return names, os.WriteFile(file, []byte(registry.String()), 0o644)
}

// program makes a package of a chapter's package main, and returns the name of its test function. All
// lines stay as they are, but for the package clause, the name of main, and two imports.
func program(from, pkg, virtual, to string, overlay map[string]string) (test string, err error) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return "", err
		}
		text = packageClause.ReplaceAll(text, []byte("package "+pkg))
		text = bytes.Replace(text, []byte("\nfunc main() {"), []byte("\nfunc _() {"), 1)
		if strings.HasSuffix(name, "_test.go") {
			found := testFunction.FindAllSubmatch(text, -1)
			if len(found) != 1 || test != "" {
				return "", fmt.Errorf("%s: want one test, which becomes the playground's program", name)
			}
			test = string(found[0][1])
			name = strings.TrimSuffix(name, "_test.go") + "_program.go"
			stage := []byte("\"" + ours + "demotest\"")
			text = bytes.Replace(text, []byte("\t\"testing\"\n"), []byte("\ttesting "+string(stage)+"\n"), 1)
			text = bytes.Replace(text, []byte("\"github.com/loopwright/loopwright/internal/demo/demotest\""), stage, 1)
		}
		file := filepath.Join(to, name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return "", err
		}
		overlay[filepath.Join(virtual, name)] = file
	}
	if test == "" {
		return "", fmt.Errorf("there is no main_test.go, which says what the program needs")
	}
	return test, nil
}

// ownImports are heavy imports of our own packages that a page doesn't need.
var ownImports = []light{
	{"github.com/loopwright/loopwright/cluster", ours + "cluster"},
	{"github.com/loopwright/loopwright/internal/demo/alone", ours + "alone"},
	{"github.com/pkg/browser", ours + "browser"},
	{"syscall", ours + "syscall"},
	{"github.com/charmbracelet/x/ansi", ours + "ansi"},
}

// lighten gives those of our files that a page gets lighter imports. Nothing else in them changes.
func lighten(root, dir string, overlay map[string]string) error {
	files, err := filepath.Glob(filepath.Join(root, "internal", "demo", "*.go"))
	if err != nil {
		return err
	}
	shared, err := filepath.Glob(filepath.Join(root, "chapters", "[0-9]*", "*", "*.go"))
	if err != nil {
		return err
	}
	files = append(append(files, shared...), filepath.Join(root, here, "stories.go"))
	for path, file := range overlay { // the programs themselves
		if err := lightenOne(path, file, dir, overlay); err != nil {
			return err
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if err := lightenOne(file, file, dir, overlay); err != nil {
			return err
		}
	}
	return nil
}

func lightenOne(path, file, dir string, overlay map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lighter := text
	for _, l := range ownImports {
		lighter = bytes.Replace(lighter, []byte("\""+l.heavy+"\""), []byte("\""+l.by+"\""), 1)
	}
	if bytes.Equal(text, lighter) {
		return nil
	}
	to := filepath.Join(dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "-"))
	overlay[path] = to
	return os.WriteFile(to, lighter, 0o644)
}

// writeOverlay writes an overlay for the go command, and returns the file's name.
func writeOverlay(dir string, overlay map[string]string) (string, error) {
	text, err := json.MarshalIndent(map[string]any{"Replace": overlay}, "", "  ")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}
