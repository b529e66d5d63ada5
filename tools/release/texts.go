package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sentencesFile has the sentences that are right only before the first release, and what they become.
// A test holds each to its text. A release empties the list.
const sentencesFile = "tools/release/sentences.json"

//go:embed sentences.json
var sentences []byte

type sentence struct{ File, Before, After string }

// rewrite makes the sentences on a list those of a version, and empties the list in the tree.
func rewrite(root, version string, list []byte) error {
	var all []sentence
	if err := json.Unmarshal(list, &all); err != nil {
		return fmt.Errorf("%s: %w", sentencesFile, err)
	}
	for _, s := range all {
		name := filepath.Join(root, filepath.FromSlash(s.File))
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if n := strings.Count(string(text), s.Before); n != 1 {
			return fmt.Errorf("%s has this %d times, and not once; mend %s:\n%s", s.File, n, sentencesFile, s.Before)
		}
		changed := strings.Replace(string(text), s.Before, strings.ReplaceAll(s.After, "VERSION", version), 1)
		if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(sentencesFile)), []byte("[]\n"), 0o644)
}
