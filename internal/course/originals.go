package course

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// mirror is a chapter's half of the map from our files to the originals. Either side may have several of the other.
type mirror struct {
	chapter   Chapter
	files     []string              // the library's files that mirror something here, sorted
	originals map[string][]Upstream // of each of them: what it mirrors, in the order of chapter.yaml
	ours      [][]string            // of each upstream entry: which files mirror it; none if the text only mentions it
}

// mirrorOf matches the globs of a chapter with the library's files. Problems are globs that match
// nothing, and originals that are listed twice.
func mirrorOf(c Chapter, all []string) (mirror, Problems) {
	m := mirror{chapter: c, originals: map[string][]Upstream{}, ours: make([][]string, len(c.Upstream))}
	var problems Problems
	for i, u := range c.Upstream {
		if slices.ContainsFunc(c.Upstream[:i], func(o Upstream) bool { return o.Module == u.Module && o.File == u.File }) {
			problems.add("%s/chapter.yaml lists upstream %s of %s twice: make one entry of them", c.Dir, u.File, u.Module)
		}
		for _, pattern := range u.Ours {
			found := false
			for _, f := range all {
				if ok, err := path.Match(pattern, f); !ok || err != nil || strings.HasSuffix(f, "_test.go") {
					continue
				}
				found = true
				if !slices.Contains(m.ours[i], f) {
					m.ours[i] = append(m.ours[i], f)
					m.originals[f] = append(m.originals[f], u)
					m.files = append(m.files, f)
				}
			}
			if !found {
				problems.add("%s/chapter.yaml, upstream %s: ours lists %s, which is no file of the library (tests do not count): correct the name or remove it", c.Dir, u.File, pattern)
			}
		}
		slices.Sort(m.ours[i])
	}
	slices.Sort(m.files)
	m.files = slices.Compact(m.files)
	return m, problems
}

func checkOriginals(chapters []Chapter, all []string) (problems Problems) {
	for _, c := range chapters {
		_, more := mirrorOf(c, all)
		problems = append(problems, more...)
	}
	return problems
}

// originals is the map in both directions, as Markdown: first by module and original, then by chapter and our
// file: most readers come with the name of an original, and the second part is the longer one.
func (d *document) originals() (string, error) {
	files, err := d.repo.GoFiles()
	if err != nil {
		return "", err
	}
	var mirrors []mirror
	for _, c := range d.chapters {
		m, problems := mirrorOf(c, files)
		if err := problems.Err(); err != nil {
			return "", err
		}
		mirrors = append(mirrors, m)
	}
	var out strings.Builder
	out.WriteString("## From the originals to the chapters\n")
	d.originalTables(&out, mirrors)
	out.WriteString("\n## From our files to the originals\n")
	for _, m := range mirrors {
		if len(m.files) > 0 {
			fmt.Fprintf(&out, "\n### %d %s\n\n%s", m.chapter.Number, m.chapter.Title, d.oursTable(m).Markdown())
		}
	}
	return out.String(), nil
}

// oursTable has a row for each of our files that mirrors something.
func (d *document) oursTable(m mirror) table {
	t := table{header: []string{"Ours", "The original"}}
	for _, f := range m.files {
		var cells []string
		for _, u := range m.originals[f] {
			cells = append(cells, u.name()+" "+u.Version+" "+u.link())
		}
		t.add(fmt.Sprintf("[%s](%s)", f, d.relative(f)), strings.Join(cells, "<br>"))
	}
	return t
}

// originalTables has a table for each module: where its files are taught, and where they are only mentioned.
func (d *document) originalTables(out *strings.Builder, mirrors []mirror) {
	type original struct{ taught, mentioned []string }
	rows := map[string]map[string]*original{} // by module and version, by link
	for _, m := range mirrors {
		chapter := fmt.Sprintf("[%d %s](%s)", m.chapter.Number, m.chapter.Title, d.relative(m.chapter.Readme()))
		for i, u := range m.chapter.Upstream {
			name := u.Module + " " + u.Version
			if rows[name] == nil {
				rows[name] = map[string]*original{}
			}
			if rows[name][u.link()] == nil {
				rows[name][u.link()] = &original{}
			}
			o := rows[name][u.link()]
			if len(m.ours[i]) == 0 {
				o.mentioned = append(o.mentioned, chapter)
			} else {
				o.taught = append(o.taught, chapter)
			}
		}
	}
	for _, name := range sortedKeys(rows) {
		t := table{header: []string{"The original", "Rebuilt in", "Also mentioned in"}}
		for _, link := range sortedKeys(rows[name]) {
			o := rows[name][link]
			t.add(link, strings.Join(o.taught, "<br>"), strings.Join(o.mentioned, "<br>"))
		}
		fmt.Fprintf(out, "\n### %s\n\n%s", name, t.Markdown())
	}
}

// relative is the path of a file from the document's directory, for a link.
func (d *document) relative(file string) string {
	link, err := filepath.Rel(path.Dir(d.file), file)
	if err != nil { // only if one of them were absolute
		return file
	}
	return filepath.ToSlash(link)
}

// name is what people call the module: client-go.
func (u Upstream) name() string {
	root, _, _ := module.SplitPathVersion(u.Module)
	return path.Base(root)
}

// link is an original as a link to the tag from which its module was released.
func (u Upstream) link() string {
	return fmt.Sprintf("[%s](%s)", u.File, u.URL())
}

// URL is where the file can be read: the tag on GitHub, if the module's path says where that is, or else
// the page of its module.
func (u Upstream) URL() string {
	ref := u.Version
	if module.IsPseudoVersion(ref) {
		ref, _ = module.PseudoVersionRev(ref)
	}
	root, _, _ := module.SplitPathVersion(u.Module)
	for prefix, at := range map[string]string{"k8s.io/": "kubernetes", "sigs.k8s.io/": "kubernetes-sigs", "golang.org/x/": "golang"} {
		if repo, ok := strings.CutPrefix(root, prefix); ok && !strings.Contains(repo, "/") {
			return fmt.Sprintf("https://github.com/%s/%s/blob/%s/%s", at, repo, ref, u.File)
		}
	}
	return "https://pkg.go.dev/" + u.Module + "@" + u.Version
}
