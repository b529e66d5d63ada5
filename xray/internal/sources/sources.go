// Package sources knows what page.html is made from, so that a test can tell, without building it,
// whether the page is older than its sources.
package sources

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Stamp returns the last line of a page that is made from the sources in this directory.
func Stamp(web string) (string, error) {
	hash := sha256.New()
	err := filepath.WalkDir(web, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "node_modules" || name == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s %d\n", filepath.ToSlash(path), len(text))
		_, err = hash.Write(text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the sources of the page: %w", err)
	}
	return fmt.Sprintf("<!-- made by go generate from sources %x -->", hash.Sum(nil)), nil
}
