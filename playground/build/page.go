package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// page makes the page with Node, and puts it into out. The page says how much it loads. Without Node
// there's a program, and no page.
func page(root, work, out, size string) error {
	if _, err := exec.LookPath("npm"); errors.Is(err, exec.ErrNotFound) {
		fmt.Println("There's no npm here, so there's no page, only its program. Install Node from your distribution or nodejs.org.")
		return nil
	}
	web, err := unpackPage(root, work)
	if err != nil {
		return err
	}
	if err := npm(web, []string{"PLAYGROUND_SIZE=" + size}, "run", "build"); err != nil {
		return err
	}
	for name, from := range map[string]string{
		"playground.js":  filepath.Join(web, "dist", "playground.js"),
		"playground.css": filepath.Join(web, "dist", "playground.css"),
		"index.html":     filepath.Join(web, "index.html"),
		"page.css":       filepath.Join(web, "page.css"),
	} {
		if err := copyFile(from, filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

// unpackPage copies the sources of the page, and those of X-ray's, which it imports, and installs what
// they need. It returns where they are.
func unpackPage(root, work string) (web string, err error) {
	ours := filepath.Join("playground", "web")
	for _, dir := range []string{ours, filepath.Join("xray", "web", "src")} {
		if err := copyDir(filepath.Join(root, dir), filepath.Join(work, dir)); err != nil {
			return "", fmt.Errorf("copying the page: %w", err)
		}
	}
	web = filepath.Join(work, ours)
	return web, npm(web, nil, "ci", "--no-fund", "--no-audit")
}

func npm(dir string, settings []string, args ...string) error {
	command := exec.Command("npm", args...)
	command.Dir, command.Env = dir, append(os.Environ(), settings...)
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s: %w\n%s", args[0], err, text)
	}
	return nil
}

// copyDir copies the files below a directory, but for what npm makes of them.
func copyDir(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			return copyFile(path, filepath.Join(to, name))
		}
		if name == "node_modules" || name == "dist" {
			return fs.SkipDir
		}
		return os.MkdirAll(filepath.Join(to, name), 0o755)
	})
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
