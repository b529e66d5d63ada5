// Package sources knows what page.html is made of: a page that is older than its sources is found
// without building it.
package sources

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Stamp is the last line of the page that is made of the sources in this directory.
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
