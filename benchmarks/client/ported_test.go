package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/migrate"
)

// portedIn is set for the tests that were compiled with the ported calls: it is where these were.
const portedIn = "LOOPWRIGHT_CALLS_PORTED_IN"

// TestMain ports the calls, as `loopwright port` does, compiles this package with them, and runs that
// in the place of this process.
func TestMain(m *testing.M) {
	if dir := os.Getenv(portedIn); dir != "" {
		_ = os.RemoveAll(dir)
		os.Exit(clustertest.Run(m))
	}
	if err := runPorted(); err != nil {
		fmt.Fprintln(os.Stderr, "porting the calls:", err)
		os.Exit(1)
	}
}

func runPorted() error {
	dir, err := os.MkdirTemp("", "ourcalls-")
	if err != nil {
		return err
	}
	overlay, err := portCalls(dir)
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "client.test")
	compile := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, ".")
	if text, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return syscall.Exec(binary, os.Args, append(os.Environ(), portedIn+"="+dir))
}

// portCalls changes nothing but import paths and the package's name. It returns the overlay that makes
// the files in dir those of package ourcalls.
func portCalls(dir string) (overlay string, err error) {
	files, err := filepath.Glob(filepath.Join("calls", "*.go"))
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if text, err = migrate.File(file, text); err != nil {
			return "", err
		}
		text = bytes.Replace(text, []byte("package calls\n"), []byte("package ourcalls\n"), 1)
		ported := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(ported, text, 0o600); err != nil {
			return "", err
		}
		place, err := filepath.Abs(filepath.Join("ourcalls", filepath.Base(file)))
		if err != nil {
			return "", err
		}
		replace[place] = ported
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
