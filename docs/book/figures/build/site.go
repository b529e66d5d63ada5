package build

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
	"github.com/loopwright/loopwright/docs/book/figures/web"
	"github.com/loopwright/loopwright/internal/figures"
)

// Size is how large a module is.
type Size struct {
	Module     Module
	Raw        int // bytes
	Compressed int
}

// Check fails if a module is larger than it may be.
func (s Size) Check() error {
	if s.Compressed > s.Module.Limit {
		return fmt.Errorf("module %s has %d bytes, compressed, and may have %d: look what it imports with `go tool nm -size`, or leave files out in docs/book/figures/build/modules.go", s.Module.Name, s.Compressed, s.Module.Limit)
	}
	return nil
}

// Site writes all that pages with figures load into a directory, and returns how large the modules are. The same
// sources and the same Go give the same files.
func Site(root, out string) ([]Size, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var sizes []Size
	for _, m := range Modules {
		size, err := m.Pack(root, out)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	runtime, err := runtimeScript()
	if err != nil {
		return nil, err
	}
	script, err := pageScript()
	if err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{"wasm_exec.js": runtime, "figures.js": script, "figures.css": pageStyle()} {
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// Pack compiles a module, and writes it as a page loads it: compressed, and as text in a script for pages from file://.
func (m Module) Pack(root, out string) (Size, error) {
	wasm, err := m.compile(root)
	if err != nil {
		return Size{}, err
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return Size{}, err
	}
	if _, err := zip.Write(wasm); err != nil {
		return Size{}, err
	}
	if err := zip.Close(); err != nil {
		return Size{}, err
	}
	script := fmt.Sprintf("(globalThis.loopwrightModules ??= {})[%q] = %q\n", m.Name, base64.StdEncoding.EncodeToString(packed.Bytes()))
	if err := os.WriteFile(filepath.Join(out, m.Name+".wasm.gz"), packed.Bytes(), 0o644); err != nil {
		return Size{}, err
	}
	if err := os.WriteFile(filepath.Join(out, m.Name+".wasm.js"), []byte(script), 0o644); err != nil {
		return Size{}, err
	}
	size := Size{m, len(wasm), packed.Len()}
	return size, size.Check()
}

func (m Module) compile(root string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := WriteOverlay(root, dir, m)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, m.Name+".wasm")
	command := exec.Command("go", "build", "-overlay", overlay, "-tags", "figures", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, "./figures/wasm/"+m.Name)
	command.Dir = filepath.Join(root, "docs", "book")
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compiling the figures %s: %w\n%s", m.Name, err, output)
	}
	return os.ReadFile(file)
}

// runtimeScript is Go's own: it has to be of the Go that compiled the modules.
func runtimeScript() ([]byte, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for Go: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js"))
}

// pageScript is figures.js, which needs to know what is where.
func pageScript() ([]byte, error) {
	where := map[string]string{}
	for _, m := range Modules {
		for _, name := range m.Figures {
			where[name] = m.Name
		}
	}
	text, err := json.Marshal(where)
	if err != nil {
		return nil, err
	}
	const gap = "const modules = {}"
	if strings.Count(web.Script, gap) != 1 {
		return nil, fmt.Errorf("figures.js has no line %q that could be filled in", gap)
	}
	return []byte(strings.Replace(web.Script, gap, "const modules = "+string(text), 1)), nil
}

// pageStyle has the rules of the chapters' pictures. Those are dark if the reader's system is; a page of the book is
// dark if it says so. With :where, a rule counts there as much as it does in a picture.
func pageStyle() []byte {
	rules := strings.ReplaceAll(figures.Style()+draw.Rules, "@media (prefers-color-scheme: dark)", ":where(.dark)")
	return []byte(web.Style + rules)
}
