// Command build makes page.html from the sources in web. It needs Node. `go generate ./xray` runs
// it, in the directory of package xray.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/loopwright/loopwright/xray/internal/sources"
)

func main() {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build() error {
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("the page is made with Node: install it from your distribution or "+
			"nodejs.org (%w)", err)
	}
	for _, args := range [][]string{{"ci", "--no-fund", "--no-audit"}, {"run", "build"}} {
		npm := exec.Command("npm", args...)
		npm.Dir, npm.Stdout, npm.Stderr = "web", os.Stdout, os.Stderr
		if err := npm.Run(); err != nil {
			return fmt.Errorf("npm %s: %w", args[0], err)
		}
	}
	made, err := os.ReadFile(filepath.Join("web", "dist", "index.html"))
	if err != nil {
		return err
	}
	stamp, err := sources.Stamp("web")
	if err != nil {
		return err
	}
	return os.WriteFile("page.html", append(made, stamp+"\n"...), 0o644)
}
