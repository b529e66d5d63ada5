package dropin

import (
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// replacement is the directory that takes a module's place.
func (c *Checkout) replacement(path string) string {
	if path == original {
		return filepath.Join(c.Dir, "dropin")
	}
	return c.Dir
}

// withLines is the go.mod with the two replace lines. Comments and form stay as they are.
func (p *Program) withLines() ([]byte, error) {
	file, err := modfile.Parse(p.file.Syntax.Name, p.mod, nil)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{original, loopwright} {
		if err := file.AddReplace(path, "", p.checkout.replacement(path), ""); err != nil {
			return nil, err
		}
	}
	return file.Format()
}

// withoutLines is the go.mod without them.
func (p *Program) withoutLines() ([]byte, error) {
	file, err := modfile.Parse(p.file.Syntax.Name, p.mod, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range file.Replace {
		if p.leadsToUs(r) {
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, err
			}
		}
	}
	file.Cleanup()
	return file.Format()
}
