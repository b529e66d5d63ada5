package compare

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// binaries are the two programs, and the tree of the second.
type binaries struct {
	theirs, ours string
	ported       string
}

// build ports the operator and builds it before and after. The binaries have one name, because a client tells
// the API server the name of its program.
func build(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	b := binaries{
		theirs: filepath.Join(dir, "theirs", "manager"), ours: filepath.Join(dir, "ours", "manager"),
		ported: filepath.Join(dir, "ported"),
	}
	b.port(t)
	goCommand(t, "..", "build", "-o", b.theirs, "./cmd")
	goCommand(t, b.ported, "build", "-o", b.ours, "./cmd")
	return b
}

// port runs the command as a user does.
func (b binaries) port(t *testing.T) {
	t.Helper()
	output := goCommand(t, filepath.Join("..", ".."), "run", "./cmd/loopwright", "port", "-o", b.ported, "--replace", ".", "operator")
	t.Logf("loopwright port:\n%s", output)
	assert.Contains(t, output, "The result compiles.")
	imports := goCommand(t, b.ported, "list", "-deps", "-test", "./cmd", "./internal/...")
	for importPath := range strings.Lines(imports) {
		assert.NotContains(t, importPath, "sigs.k8s.io/controller-runtime", "the ported program still imports it")
	}
	text, err := os.ReadFile(filepath.Join(b.ported, "go.mod"))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "sigs.k8s.io/controller-runtime")
}

func goCommand(t *testing.T, dir string, arguments ...string) (output string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	if filepath.IsAbs(dir) { // the ported module, whose go.sum may lack what only this library needs
		command.Env = append(command.Env, "GOFLAGS=-mod=mod")
	}
	text, err := command.CombinedOutput()
	require.NoError(t, err, "go %s:\n%s", strings.Join(arguments, " "), text)
	return string(text)
}
