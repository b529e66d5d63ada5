// Command build makes the playground: a WebAssembly program and the page that runs it. It's
// `make playground`.
//
//	modules of others, lighter (light.go) --+
//	chapters' programs as packages ---------+--> go build for js/wasm --> playground.wasm, .gz, .js
//	playground/, mini/, internal/fakeapi ---+
//	playground/web, xray/web (page.go) ---------> npm run build ---------> index.html, playground.js, .css
//
// Our own packages are compiled as they are. What it makes on the way is in a directory of its own, so
// that two builds at a time don't disturb each other.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// limit is how many bytes the program may have, compressed by gzip -9: GitHub Pages serves gzip.
const limit = 6_000_000

// tls is what TLS adds, where it can't be left out.
const tls = 700_000

func main() {
	out := flag.String("o", ".loopwright/playground", "the directory for the playground")
	flag.Parse()
	if err := build(*out); err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

func build(out string) (err error) {
	root, err := output("go", "env", "GOMOD")
	if err != nil {
		return err
	}
	root = filepath.Dir(root)
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	// The tag is net/http's own: no HTTP/2, which needs TLS.
	arguments := []string{"build", "-trimpath", "-ldflags=-s -w", "-tags=nethttpomithttp2"}
	work, err := os.MkdirTemp(out, "making-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	modfile, err := lightModules(root, work)
	if err != nil {
		return err
	}
	overlay := map[string]string{}
	if _, err := programs(root, filepath.Join(work, "programs"), overlay); err != nil {
		return err
	}
	if err := lighten(root, filepath.Join(work, "programs"), overlay); err != nil {
		return err
	}
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	modcache, err := output("go", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	allowed := int64(limit)
	if strings.HasPrefix(goroot, modcache+string(filepath.Separator)) {
		fmt.Println("This Go is in the module cache, where nothing can be replaced, so the program has TLS.")
		allowed += tls
	} else if err := noTLS(root, goroot, overlay); err != nil {
		return err
	}
	overlaid, err := writeOverlay(work, overlay)
	if err != nil {
		return err
	}
	made := filepath.Join(work, "made")
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	wasm := filepath.Join(made, "playground.wasm")
	arguments = append(arguments, "-modfile="+modfile, "-overlay="+overlaid, "-o", wasm, "./playground")
	command := exec.Command("go", arguments...)
	command.Dir, command.Stderr = root, os.Stderr
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if err := command.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(arguments, " "), err)
	}
	size, err := pack(root, goroot, made, wasm, allowed)
	if err != nil {
		return err
	}
	if err := page(root, filepath.Join(work, "page"), made, size); err != nil {
		return err
	}
	return moveAll(made, out)
}

// moveAll puts files in their places. Whoever reads there meanwhile gets the old one or the new one.
func moveAll(from, to string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Rename(filepath.Join(from, file.Name()), filepath.Join(to, file.Name())); err != nil {
			return err
		}
	}
	return nil
}

// lightModules writes lighter copies of modules, and a go.mod that names them, whose path it returns.
func lightModules(root, dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	mod := string(text)
	for _, m := range lighter {
		from, err := downloaded(m.path)
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, filepath.FromSlash(m.path))
		if err := m.write(root, from, to); err != nil {
			return "", err
		}
		mod += fmt.Sprintf("\nreplace %s => %s\n", m.path, to)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644); err != nil {
		return "", err
	}
	modfile := filepath.Join(dir, "go.mod")
	return modfile, os.WriteFile(modfile, []byte(mod), 0o644)
}

// downloaded is the directory of a module, of the version that go.mod has.
func downloaded(path string) (string, error) {
	text, err := output("go", "mod", "download", "-json", path)
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		return "", fmt.Errorf("downloading %s: %w", path, err)
	}
	return module.Dir, nil
}

// pack compresses the program, writes it as a script for pages from file://, which may not fetch, and
// puts Go's own script and the clock beside it, for programs that aren't a page. It returns what readers
// are told of the program's size, which size.txt has for other pages: "5.5 MB".
func pack(root, goroot, out, wasm string, allowed int64) (size string, err error) {
	program, err := os.ReadFile(wasm)
	if err != nil {
		return "", err
	}
	var zipped bytes.Buffer
	zip, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := zip.Write(program); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	if err := os.WriteFile(wasm+".gz", zipped.Bytes(), 0o644); err != nil {
		return "", err
	}
	script := fmt.Sprintf("globalThis.loopwrightPlaygroundProgram = %q\n",
		base64.StdEncoding.EncodeToString(zipped.Bytes()))
	if err := os.WriteFile(wasm+".js", []byte(script), 0o644); err != nil {
		return "", err
	}
	for name, from := range map[string]string{
		"wasm_exec.js": filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"),
		"clock.js":     filepath.Join(root, "playground", "web", "clock.js"),
	} {
		if err := copyFile(from, filepath.Join(out, name)); err != nil {
			return "", err
		}
	}
	compressed := int64(zipped.Len())
	fmt.Printf("%s: %.1f MB, %.2f MB compressed\n", filepath.Base(wasm), float64(len(program))/1e6, float64(compressed)/1e6)
	if compressed > allowed {
		return "", fmt.Errorf("%d bytes compressed, and the limit is %d: playground/README.md says how to find out why",
			compressed, allowed)
	}
	size = fmt.Sprintf("%.1f MB", float64(compressed)/1e6)
	return size, os.WriteFile(filepath.Join(out, "size.txt"), []byte(size), 0o644)
}

// output is what a command prints, without the end of the line.
func output(name string, arguments ...string) (string, error) {
	text, err := exec.Command(name, arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}
