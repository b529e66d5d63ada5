package endtoend

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// suite is a test of somebody else's module.
const suite = `package foreign

import (
	"testing"

	"github.com/loopwright/loopwright/manager/envtest"
)

func TestItStarts(t *testing.T) {
	environment := &envtest.Environment{}
	if _, err := environment.Start(); err != nil {
		t.Fatal(err)
	}
	if err := environment.Stop(); err != nil {
		t.Fatal(err)
	}
}
`

// A module that requires this one gets what the module's zip holds, which is not all of the checkout.
func TestAModuleThatRequiresThisOneGetsAControlPlane(t *testing.T) {
	if os.Getenv("LOOPWRIGHT_TEST_ALL") == "" {
		t.Skip("compiles and links the control plane again, which `make test-all` asks for")
	}
	dir := t.TempDir()
	ours := filepath.Join(dir, "ours")
	downloaded(t, filepath.Join("..", "..", ".."), ours)
	assert.NoDirExists(t, filepath.Join(ours, "cluster", "controlplane"), "a module's zip has no nested modules, so this proves nothing")

	theirs := filepath.Join(dir, "theirs")
	require.NoError(t, os.Mkdir(theirs, 0o700))
	requirements, err := os.ReadFile(filepath.Join(ours, "go.mod"))
	require.NoError(t, err)
	own := strings.Replace(string(requirements), "module github.com/loopwright/loopwright\n", "module foreign.example\n", 1)
	own, _, _ = strings.Cut(own, "\nignore (")
	own += "\nrequire github.com/loopwright/loopwright v0.0.0\n\nreplace github.com/loopwright/loopwright => " + ours + "\n"
	sums, err := os.ReadFile(filepath.Join(ours, "go.sum"))
	require.NoError(t, err)
	for name, content := range map[string]string{"go.mod": own, "go.sum": string(sums), "suite_test.go": suite} {
		require.NoError(t, os.WriteFile(filepath.Join(theirs, name), []byte(content), 0o600))
	}

	cache := filepath.Join(dir, "cache") // an empty one, so that the control plane is built
	command := exec.Command("go", "test", "-count=1", "-timeout=20m", "./...")
	command.Dir = theirs
	command.Env = append(os.Environ(),
		"GOFLAGS=-mod=mod", "GOWORK=off", "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"),
		"XDG_CACHE_HOME="+cache, "USE_EXISTING_CLUSTER=")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	built, err := filepath.Glob(filepath.Join(cache, "loopwright-controlplane", "*"))
	require.NoError(t, err)
	if os.Getenv("GOOS") != "darwin" && len(built) > 0 { // macOS keeps its caches elsewhere
		assert.Len(t, built, 1, "a build leaves more than its result")
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(value))
}

// downloaded makes a copy of the module as the go command would download it.
func downloaded(t *testing.T, root, to string) {
	t.Helper()
	version := module.Version{Path: "github.com/loopwright/loopwright", Version: "v0.0.0"}
	packed, err := os.Create(filepath.Join(t.TempDir(), "module.zip"))
	require.NoError(t, err)
	defer func() { _ = packed.Close() }()
	require.NoError(t, zip.Create(packed, version, filesOf(t, root)))
	require.NoError(t, zip.Unzip(to, version, packed.Name()))
	// Unzip makes everything read-only, as the module cache is. The cleanup needs to remove it.
	t.Cleanup(func() {
		_ = filepath.WalkDir(to, func(path string, _ fs.DirEntry, _ error) error { return os.Chmod(path, 0o700) })
	})
}

// filesOf lists what would be checked in: all but what starts with a dot, and learners' own files.
func filesOf(t *testing.T, root string) []zip.File {
	t.Helper()
	var files []zip.File
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		skip := strings.HasPrefix(entry.Name(), ".") || entry.Name() == "my" || entry.Name() == "node_modules"
		if entry.IsDir() && skip {
			return filepath.SkipDir
		}
		if !skip && entry.Type().IsRegular() {
			files = append(files, file{root: root, path: path})
		}
		return nil
	}))
	return files
}

// file is one file of the module, as package zip wants to see it.
type file struct{ root, path string }

func (f file) Path() string {
	relative, _ := filepath.Rel(f.root, f.path)
	return filepath.ToSlash(relative)
}
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.path) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.path) }
