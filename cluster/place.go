package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// modulePath identifies a checkout of this project.
const modulePath = "github.com/loopwright/loopwright"

// checkoutRoot walks up from the working directory to the checkout.
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
			return "", fmt.Errorf("no checkout of %s at or above %s: run this inside a clone, or set LOOPWRIGHT_DIR", modulePath, start)
		}
	}
}

func stateDir(root string) string { return filepath.Join(root, ".loopwright") }

// place knows where an embedded cluster keeps its files. All secrets are below cluster(), which
// only its owner can read. dir itself may be a directory that the user already had, so this package
// doesn't change its mode, and removes only the files listed here.
type place struct{ dir string }

func (p place) cluster() string           { return filepath.Join(p.dir, "cluster") }
func (p place) lock() string              { return filepath.Join(p.dir, "cluster.lock") }
func (p place) kubectl() string           { return filepath.Join(p.dir, "bin", "kubectl") }
func (p place) kubeconfig() string        { return filepath.Join(p.cluster(), "kubeconfig") }
func (p place) state() string             { return filepath.Join(p.cluster(), "state.json") }
func (p place) founded() string           { return filepath.Join(p.cluster(), "founded") }
func (p place) etcdData() string          { return filepath.Join(p.cluster(), "etcd") }
func (p place) home() string              { return filepath.Join(p.cluster(), "home") }
func (p place) pki(file string) string    { return filepath.Join(p.cluster(), "pki", file) }
func (p place) client(name string) string { return p.pki(name + ".kubeconfig") }
func (p place) log(part Part) string      { return filepath.Join(p.cluster(), "logs", string(part)+".log") }
func (p place) alive(part Part) string    { return filepath.Join(p.cluster(), "run", string(part)) }

func (p place) make() error {
	err := existingDir(p.dir)
	for _, dir := range []string{
		filepath.Dir(p.kubectl()), p.cluster(), p.home(),
		p.pki(""), filepath.Dir(p.log(Etcd)), filepath.Dir(p.alive(Etcd)),
	} {
		if err == nil {
			err = privateDir(dir)
		}
	}
	return withAdvice(err)
}

// remove removes what make and the parts have made.
func (p place) remove() error {
	own := []string{
		p.founded(), p.kubectl(), p.home(), p.etcdData(), p.pki(""), p.kubeconfig(), p.state(),
		filepath.Dir(p.log(Etcd)), filepath.Dir(p.alive(Etcd)),
	}
	cutOff, _ := filepath.Glob(filepath.Join(p.cluster(), ".*-*")) // see privateFile
	for _, path := range append(own, cutOff...) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the cluster's data: %w", err)
		}
	}
	for _, dir := range []string{p.cluster(), filepath.Dir(p.kubectl())} {
		_ = os.Remove(dir) // fails if there are other files, as it should
	}
	return nil
}

// withAdvice adds what to do about a directory that can't be used.
func withAdvice(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: set LOOPWRIGHT_DIR to a directory that you can write to", err)
}

// existingDir makes a directory private if it has to create it, and those above it as well. An
// existing one keeps its mode: it may be a home directory.
func existingDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("making the directory %s: a file of that name is there", dir)
	case dir == filepath.Dir(dir) || !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("making the directory %s: %w", dir, err)
	}
	if err := existingDir(filepath.Dir(dir)); err != nil {
		return err
	}
	return privateDir(dir)
}

// privateDir makes a directory that only its owner can read, or makes an existing one so. It sets
// the mode in a separate step, because mkdir subtracts the umask, which may be anything.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the directory %s: %w", dir, err)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("making the directory %s: a file of that name is there", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("making the directory %s private: %w", dir, err)
	}
	return nil
}

// privateFile replaces a file for its owner alone, in one step: a reader sees the old content or
// the new one, and the new one never has a wider mode.
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
