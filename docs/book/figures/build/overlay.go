package build

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// bridges is where bridge files are, from the root.
const bridges = "docs/book/figures/bridge"

// Overlay is what the go command has to replace for modules: a bridge takes the place of a file that is not there,
// nothing takes the place of a file that is left out, and a file with lighter imports that of one with heavy ones. Such
// files are written to the directory. Root is the root of the checkout.
//
// The go command says nothing about a key that does not exist. So both ends are checked: what is kept is there, a bridge
// is there, nothing is there where it goes, and each import that is to be replaced is in some file.
func Overlay(root, dir string, modules ...Module) (map[string]string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for _, m := range modules {
		for _, s := range m.Slices {
			if err := s.overlay(root, dir, replace); err != nil {
				return nil, fmt.Errorf("module %s: %w: see docs/book/figures/build/modules.go", m.Name, err)
			}
		}
	}
	return replace, nil
}

func (s Slice) overlay(root, dir string, replace map[string]string) error {
	from := filepath.Join(root, filepath.FromSlash(s.Dir))
	files, err := sources(from)
	if err != nil {
		return err
	}
	for _, kept := range s.Keep {
		if !slices.Contains(files, kept) {
			return fmt.Errorf("%s has no file %s", s.Dir, kept)
		}
	}
	used := map[string]bool{}
	for _, file := range files {
		path := filepath.Join(from, file)
		if s.Keep != nil && !slices.Contains(s.Keep, file) {
			replace[path] = ""
			continue
		}
		lighter, err := s.lighten(path, used)
		if err != nil {
			return err
		}
		if lighter != "" {
			to := filepath.Join(dir, strings.ReplaceAll(s.Dir, "/", "-")+"-"+file)
			if err := os.WriteFile(to, []byte(lighter), 0o644); err != nil {
				return err
			}
			replace[path] = to
		}
	}
	for _, l := range s.Light {
		if !used[l.Heavy] {
			return fmt.Errorf("no file of %s imports %s", s.Dir, l.Heavy)
		}
	}
	bridge := filepath.Join(root, filepath.FromSlash(bridges), filepath.FromSlash(s.Bridge))
	if _, err := os.Stat(bridge); err != nil {
		return err
	}
	to := filepath.Join(from, "figures_bridge.go")
	if _, err := os.Stat(to); err == nil {
		return fmt.Errorf("%s is in the place of a bridge", to)
	}
	replace[to] = bridge
	return nil
}

// lighten returns a file's text with lighter imports, or "" if it has no heavy ones.
func (s Slice) lighten(path string, used map[string]bool) (string, error) {
	if len(s.Light) == 0 {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	lighter := string(text)
	for _, l := range s.Light {
		if heavy := strconv.Quote(l.Heavy); strings.Contains(lighter, heavy) {
			lighter, used[l.Heavy] = strings.Replace(lighter, heavy, strconv.Quote(l.By), 1), true
		}
	}
	if lighter == string(text) {
		return "", nil
	}
	return lighter, nil
}

// sources are the Go files of a directory, without tests.
func sources(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, name)
		}
	}
	return files, nil
}

// WriteOverlay writes the overlay to a file of a directory, and returns its name.
func WriteOverlay(root, dir string, modules ...Module) (string, error) {
	replace, err := Overlay(root, dir, modules...)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}
