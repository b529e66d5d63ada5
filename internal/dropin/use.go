package dropin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// memory is where Use keeps what Unuse restores: go.mod and go.sum before, and after.
const memory = ".loopwright"

// Use writes the two lines into the program's go.mod, and completes it and its go.sum. It changes
// nothing if they are there already, or if it fails.
func (p *Program) Use(ctx context.Context, progress io.Writer) (changed bool, err error) {
	if p.uses {
		return false, nil
	}
	text, err := p.withLines()
	if err != nil {
		return false, err
	}
	aside, err := newAside(p)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, aside.remove()) }()
	modfile, err := aside.modfile("use", text, p.sum)
	if err != nil {
		return false, err
	}
	stop := report(progress, "resolving modules")
	err = aside.complete(ctx, modfile, []string{"./..."})
	if stop(); err != nil {
		return false, err
	}
	mod, err := os.ReadFile(modfile)
	if err != nil {
		return false, err
	}
	sum, err := os.ReadFile(sumOf(modfile))
	if err != nil {
		return false, err
	}
	if err := p.remember(mod, sum); err != nil {
		return false, err
	}
	if err := p.write(mod, sum); err != nil {
		return false, errors.Join(err, p.forget())
	}
	return true, nil
}

// Unuse takes the lines away again. If nothing else has changed since, go.mod and go.sum are what
// they were, to the byte. Otherwise what Use has raised stays, and restored is false.
func (p *Program) Unuse() (restored bool, err error) {
	if !p.uses {
		return false, errors.New(filepath.Join(p.Dir, "go.mod") + " doesn't have the lines that `loopwright use` of this checkout writes")
	}
	var files [4][]byte
	for i, name := range []string{"before.mod", "before.sum", "after.mod", "after.sum"} {
		if files[i], err = os.ReadFile(filepath.Join(p.Dir, memory, name)); err != nil {
			break // somebody has removed it
		}
	}
	mod, sum := files[0], files[1]
	restored = err == nil && bytes.Equal(files[2], p.mod) && bytes.Equal(files[3], p.sum)
	if !restored {
		if mod, err = p.withoutLines(); err != nil {
			return false, err
		}
		sum = p.sum
	}
	if err := p.write(mod, sum); err != nil {
		return false, err
	}
	return restored, p.forget()
}

// write writes go.sum and go.mod; go.mod comes last, because it says which the program is on. There is
// no go.sum if it'd be empty.
func (p *Program) write(mod, sum []byte) error {
	var err error
	if name := filepath.Join(p.Dir, "go.sum"); len(sum) > 0 {
		err = os.WriteFile(name, sum, 0o644)
	} else if err = os.Remove(name); errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.Dir, "go.mod"), mod, 0o644)
}

func (p *Program) remember(mod, sum []byte) error {
	dir := filepath.Join(p.Dir, memory)
	err := os.MkdirAll(dir, 0o755)
	for name, text := range map[string][]byte{
		"before.mod": p.mod, "before.sum": p.sum, "after.mod": mod, "after.sum": sum,
		".gitignore": []byte("*\n"),
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	return err
}

func (p *Program) forget() error {
	dir := filepath.Join(p.Dir, memory)
	for _, name := range []string{"before.mod", "before.sum", "after.mod", "after.sum", ".gitignore"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(dir) // somebody else may have put something there
	return nil
}
