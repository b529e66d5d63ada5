// Package build builds a program that is written for controller-runtime: as it is, or with the import paths of this
// library, and with nothing else changed.
package build

import (
	"context"
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

// Program builds the main.go of a directory, after the change, without symbols, and returns the binary. All files are
// in temp. Flags are further ones for go build.
func Program(ctx context.Context, dir, temp string, change func(string) string, flags ...string) (binary string, err error) {
	original := filepath.Join(dir, "main.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(temp, "main.go")
	if err := os.WriteFile(changed, []byte(change(string(source))), 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(temp, "program")
	arguments := append([]string{"build", "-ldflags=-s -w", "-o", binary}, flags...)
	output, err := exec.CommandContext(ctx, "go", append(arguments, changed)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", original, err, output)
	}
	return binary, nil
}
