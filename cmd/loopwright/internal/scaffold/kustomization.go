package scaffold

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const kustomizationFile = "config/kustomization.yaml"

// extendKustomization adds the CRD of a kind to the resources of config/kustomization.yaml. People
// and `kustomize edit` change that file, so it need not be as it was written.
func extendKustomization(dir string, p *project, out io.Writer) error {
	name := filepath.Join(dir, kustomizationFile)
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	crd := fmt.Sprintf("crd/%s_%s.yaml", p.Group, p.Plural)
	extended, ok := addCRD(string(text), crd)
	if !ok {
		_, _ = fmt.Fprintf(out, "%s has no list of resources with a line for each CRD, so it is left "+
			"as it is. Add to its resources:\n- %s\n", kustomizationFile, crd)
		return nil
	}
	return os.WriteFile(name, []byte(extended), 0o666)
}

// addCRD adds a line below that of the last CRD, and leaves all other bytes as they are: a YAML
// encoder would write the whole file in its own style. It returns false if there is no such line,
// or if the text with one more line does not mean the list with one more resource.
func addCRD(text, crd string) (extended string, ok bool) {
	var list struct{ Resources []yaml.Node }
	var before, after map[string]any
	if yaml.Unmarshal([]byte(text), &list) != nil || yaml.Unmarshal([]byte(text), &before) != nil {
		return "", false
	}
	last := -1
	for i, resource := range list.Resources {
		switch {
		case resource.Value == crd:
			return text, true
		case strings.HasPrefix(resource.Value, "crd/"):
			last = i
		}
	}
	if last < 0 {
		return "", false
	}
	at := list.Resources[last]
	lines := strings.SplitAfter(text, "\n")
	if at.Line > len(lines) || at.Column > len(lines[at.Line-1]) {
		return "", false // YAML counts other line breaks, too
	}
	line := lines[at.Line-1]
	withoutEnd := strings.TrimRight(line, "\r\n")
	end := line[len(withoutEnd):]
	if end == "" {
		lines[at.Line-1] += "\n"
	}
	lines = slices.Insert(lines, at.Line, line[:at.Column-1]+crd+end)
	extended = strings.Join(lines, "")
	if yaml.Unmarshal([]byte(extended), &after) != nil {
		return "", false
	}
	before["resources"] = slices.Insert(before["resources"].([]any), last+1, any(crd))
	return extended, reflect.DeepEqual(before, after)
}
