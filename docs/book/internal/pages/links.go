package pages

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sourceDir is where the book shows files that are no texts.
const sourceDir = "source"

// target is where a link of a text leads in the book.
type target struct {
	href     string // relative to the page, so that it works in a folder and below any address
	external bool   // another site
	file     bool   // a source page: no page of VitePress's, whose router must leave it alone
}

// resolve finds what a link means. A link that leads nowhere is an error that
// says what is missing.
func (s *Site) resolve(from *page, destination string) (target, error) {
	to, err := url.Parse(destination)
	if err != nil {
		return target{}, fmt.Errorf("%q is no link: %w", destination, err)
	}
	if to.Scheme != "" || to.Host != "" {
		return target{href: destination, external: true}, nil
	}
	if strings.HasPrefix(to.Path, "/") {
		return target{}, fmt.Errorf("the link %q begins with a slash: write the path from the text's own directory", destination)
	}
	file := from.file
	if to.Path != "" {
		file = path.Join(path.Dir(from.file), to.Path)
	}
	if file == "." {
		file = home
	}
	if s.isDir(file) && s.pages[path.Join(file, "README.md")] != nil {
		file = path.Join(file, "README.md")
	}
	if p := s.pages[file]; p != nil {
		return s.pageTarget(from, p, to, destination)
	}
	return s.fileTarget(from, file, to, destination)
}

func (s *Site) pageTarget(from, to *page, link *url.URL, destination string) (target, error) {
	if link.Fragment != "" && !to.ids[link.Fragment] {
		return target{}, fmt.Errorf("the link %q leads nowhere: %s has no heading #%s%s", destination, to.file, link.Fragment, nearest(link.Fragment, to.ids))
	}
	href := relative(from.out, to.out)
	if from == to {
		href = ""
	}
	if link.Fragment != "" {
		href += "#" + link.Fragment
	}
	if href == "" {
		href = "#"
	}
	return target{href: href}, nil
}

func (s *Site) fileTarget(from *page, file string, link *url.URL, destination string) (target, error) {
	switch {
	case s.isDir(file):
		s.listings[file] = true
		return target{href: relative(from.out, path.Join(sourceDir, file, "index.html")), file: true}, nil
	case !s.isFile(file):
		return target{}, fmt.Errorf("the link %q leads nowhere: there is no %s", destination, file)
	case isPicture(file):
		s.pictures[file] = true
		return target{href: relative(from.out, file), file: true}, nil
	case path.Ext(file) == ".jsonl":
		s.recordings[file] = true
		return target{href: relative(from.out, recordingPage(file)), file: true}, nil
	}
	s.sources[file] = true
	href := relative(from.out, sourcePage(file))
	if link.Fragment != "" {
		lines, err := s.lineRange(file, link.Fragment)
		if err != nil {
			return target{}, fmt.Errorf("the link %q leads nowhere: %w", destination, err)
		}
		s.ranges.add(file, lines)
		href += "#" + lines.id()
	}
	return target{href: href, file: true}, nil
}

var lineFragment = regexp.MustCompile(`^L([0-9]+)(?:-L([0-9]+))?$`)

// lineRange reads GitHub's #L10-L20.
func (s *Site) lineRange(file, fragment string) (lineRange, error) {
	match := lineFragment.FindStringSubmatch(fragment)
	if match == nil {
		return lineRange{}, fmt.Errorf("#%s is no line of %s: write #L10 or #L10-L20", fragment, file)
	}
	text, err := os.ReadFile(s.repo.Abs(file))
	if err != nil {
		return lineRange{}, err
	}
	first, err := strconv.Atoi(match[1])
	lines := bytes.Count(text, []byte("\n"))
	if err != nil || first < 1 || first > lines {
		return lineRange{}, fmt.Errorf("%s has %d lines, and no line %s", file, lines, match[1])
	}
	if match[2] == "" {
		return lineRange{first, first}, nil
	}
	last, err := strconv.Atoi(match[2])
	if err != nil || last < first || last > lines {
		return lineRange{}, fmt.Errorf("%s has %d lines, and no lines %s to %s", file, lines, match[1], match[2])
	}
	return lineRange{first, last}, nil
}

func sourcePage(file string) string { return path.Join(sourceDir, file) + ".html" }

// recordingPage shows a recording in X-ray.
func recordingPage(file string) string { return strings.TrimSuffix(file, ".jsonl") + ".html" }

func isPicture(file string) bool {
	return slices.Contains([]string{".svg", ".png", ".jpg", ".gif", ".webp"}, path.Ext(file))
}

// relative is the way from one file of the book to another.
func relative(from, to string) string {
	way, err := filepath.Rel(path.Dir(from), to)
	if err != nil {
		panic(err) // both are relative to the book's root
	}
	return filepath.ToSlash(way)
}

// nearest names the heading that was probably meant.
func nearest(wrong string, ids map[string]bool) string {
	best, most := "", 0
	words := strings.Split(wrong, "-")
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		same := 0
		for _, word := range strings.Split(id, "-") {
			if slices.Contains(words, word) {
				same++
			}
		}
		if same > most {
			best, most = id, same
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (#%s is similar)", best)
}

func (s *Site) isFile(rel string) bool {
	info, err := os.Stat(s.repo.Abs(rel))
	return err == nil && info.Mode().IsRegular()
}

func (s *Site) isDir(rel string) bool {
	info, err := os.Stat(s.repo.Abs(rel))
	return err == nil && info.IsDir()
}
