package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// modulePath is how a checkout of this project is recognised.
const modulePath = "github.com/loopwright/loopwright"

// checkoutRoot walks up from the working directory to the checkout. The control
// plane is compiled from a nested module, which a module download does not
// hold, so an embedded cluster needs a checkout.
func checkoutRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the checkout: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module "+modulePath+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no checkout of %s at or above %s: run this inside a clone", modulePath, start)
		}
	}
}

func stateDir(root string) string { return filepath.Join(root, ".loopwright") }

// place knows where an embedded cluster keeps what. Everything lies below one
// directory, which nobody but its owner can read.
type place struct{ dir string }

func (p place) cluster() string           { return filepath.Join(p.dir, "cluster") }
func (p place) lock() string              { return filepath.Join(p.dir, "cluster.lock") }
func (p place) kubectl() string           { return filepath.Join(p.dir, "bin", "kubectl") }
func (p place) kubeconfig() string        { return filepath.Join(p.cluster(), "kubeconfig") }
func (p place) state() string             { return filepath.Join(p.cluster(), "state.json") }
func (p place) etcdData() string          { return filepath.Join(p.cluster(), "etcd") }
func (p place) home() string              { return filepath.Join(p.cluster(), "home") }
func (p place) pki(file string) string    { return filepath.Join(p.cluster(), "pki", file) }
func (p place) client(name string) string { return p.pki(name + ".kubeconfig") }
func (p place) log(part Part) string      { return filepath.Join(p.cluster(), "logs", string(part)+".log") }
func (p place) alive(part Part) string    { return filepath.Join(p.cluster(), "run", string(part)) }

func (p place) make() error {
	for _, dir := range []string{
		p.dir, filepath.Dir(p.kubectl()), p.cluster(), p.home(),
		p.pki(""), filepath.Dir(p.log(Etcd)), filepath.Dir(p.alive(Etcd)),
	} {
		if err := privateDir(dir); err != nil {
			return fmt.Errorf("%w: choose a directory that you can write to with LOOPWRIGHT_DIR=...", err)
		}
	}
	return nil
}

// privateDir makes a directory for its owner alone. The mode is set on its own,
// because mkdir subtracts the umask, which may be anything.
func privateDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("making the directory %s: %w", dir, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the directory %s: %w", dir, err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory needs its x bit
		return fmt.Errorf("making the directory %s private: %w", dir, err)
	}
	return nil
}

// privateFile replaces a file for its owner alone, in one step: a reader sees
// the old content or the new one, and nobody sees the new one with a wider mode.
func privateFile(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o600), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
