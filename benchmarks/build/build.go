// Package build builds a program that is written for controller-runtime: as it is, or with the import paths of this
// library, and with nothing else changed.
package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// AsOurs replaces the import paths.
func AsOurs(source string) string {
	return strings.NewReplacer(
		`"sigs.k8s.io/controller-runtime/pkg/`, `"github.com/loopwright/loopwright/manager/`,
		`"sigs.k8s.io/controller-runtime"`, `"github.com/loopwright/loopwright"`,
	).Replace(source)
}

// AsItIs replaces nothing.
func AsItIs(source string) string { return source }

// Program builds the main.go of a directory, after the change, without symbols, and returns the binary. All files are in temp.
func Program(ctx context.Context, dir, temp string, change func(string) string) (binary string, err error) {
	original, err := filepath.Abs(filepath.Join(dir, "main.go"))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(temp, "main.go"), filepath.Join(temp, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	for file, text := range map[string]string{changed: change(string(source)), overlay: string(replaced)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	binary = filepath.Join(temp, "program")
	output, err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", binary, original).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", original, err, output)
	}
	return binary, nil
}
