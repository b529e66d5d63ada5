// Package epub puts the chapters, their exercises and the glossary into one file for e-readers.
//
//	pages/menu.json  ->  chapters in their order  ->  each page as XHTML, with its pictures  ->  a zip
//
// It reads what internal/pages has written and draw.mjs has drawn. A link to a page that's in the file
// stays in it, and any other leads to the published book.
//
// Neighbours: internal/build calls it.
package epub

import (
	"archive/zip"
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Options say what the file is made of.
type Options struct {
	Pages, Public string // what internal/pages has written
	Published     string // the address of the published book, without a slash at its end
	Changed       time.Time
}

// entry is one in the table of contents.
type entry struct {
	Title string  `json:"text"`
	Link  string  `json:"link"`
	Items []entry `json:"items"`
}

// file is one in the zip.
type file struct {
	Name, Type, Properties string
	Text                   []byte
}

//go:embed style.css
var style []byte

// Write writes the file. Errors: a page or a picture that's missing.
func Write(to io.Writer, o Options) error {
	parts, err := o.contents()
	if err != nil {
		return fmt.Errorf("writing the EPUB: %w", err)
	}
	b := book{Options: o, inside: map[string]string{}, pictures: map[string]bool{}}
	titles := map[string]string{} // by the link
	var links []string
	walk(parts, func(e entry) {
		if e.Link != "" {
			links = append(links, e.Link)
			titles[e.Link] = e.Title
			b.inside[pageOf(e.Link)] = strings.TrimSuffix(pageOf(e.Link), ".html") + ".xhtml"
		}
	})
	files := []file{{Name: "style.css", Type: "text/css", Text: style}}
	for _, link := range links {
		text, drawn, err := b.page(pageOf(link), titles[link])
		if err != nil {
			return fmt.Errorf("writing the EPUB: %s: %w", link, err)
		}
		properties := ""
		if drawn {
			properties = "svg"
		}
		files = append(files, file{b.inside[pageOf(link)], xhtml, properties, text})
	}
	for _, name := range slices.Sorted(maps.Keys(b.pictures)) {
		picture, err := os.ReadFile(filepath.Join(o.Public, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("writing the EPUB: %w", err)
		}
		kind, known := pictureTypes[path.Ext(name)]
		if !known {
			return fmt.Errorf("writing the EPUB: %s: no e-reader shows a picture of this type", name)
		}
		files = append(files, file{name, kind, "", picture})
	}
	cover, err := os.ReadFile(filepath.Join(o.Public, "book", "card.png"))
	if err != nil {
		return fmt.Errorf("writing the EPUB: %w", err)
	}
	files = append(files, file{"cover.png", "image/png", "cover-image", cover})
	contents, err := fill(contentsTemplate, struct{ Parts []entry }{b.linked(parts)})
	if err != nil {
		return err
	}
	files = append(files, file{"contents.xhtml", xhtml, "nav", contents})
	return o.zip(to, files)
}

const xhtml = "application/xhtml+xml"

var pictureTypes = map[string]string{".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}

// contents are the parts of the course, and the glossary.
func (o Options) contents() ([]entry, error) {
	text, err := os.ReadFile(filepath.Join(o.Pages, "menu.json"))
	if err != nil {
		return nil, err
	}
	var menu []entry
	if err := json.Unmarshal(text, &menu); err != nil {
		return nil, fmt.Errorf("menu.json: %w", err)
	}
	menu = slices.DeleteFunc(menu, func(e entry) bool { return !strings.HasPrefix(e.Title, "Part ") })
	return append(menu, entry{Title: "Glossary", Link: "/docs/glossary"}), nil
}

// linked are the entries with names of files in the place of links. A part has no page, so it leads to its first chapter.
func (b *book) linked(entries []entry) []entry {
	result := slices.Clone(entries)
	for i, e := range result {
		result[i].Items = b.linked(e.Items)
		if e.Link != "" {
			result[i].Link = b.inside[pageOf(e.Link)]
		} else if len(e.Items) > 0 {
			result[i].Link = result[i].Items[0].Link
		}
	}
	return result
}

func walk(entries []entry, see func(entry)) {
	for _, e := range entries {
		see(e)
		walk(e.Items, see)
	}
}

// zip writes all files. The first one says what this is, and must not be compressed.
func (o Options) zip(to io.Writer, files []file) error {
	z := zip.NewWriter(to)
	add := func(name string, method uint16, text []byte) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method}) // a time would be an extra field, which the first may not have
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	pack, err := fill(packageTemplate, struct {
		Options
		Files []file
	}{o, files})
	if err != nil {
		return err
	}
	if err := add("mimetype", zip.Store, []byte("application/epub+zip")); err != nil {
		return err
	}
	all := append([]file{{Name: "../META-INF/container.xml", Text: []byte(container)}, {Name: "package.opf", Text: pack}}, files...)
	for _, f := range all {
		if err := add(path.Join("book", f.Name), zip.Deflate, f.Text); err != nil {
			return err
		}
	}
	return z.Close()
}

func fill(t *template.Template, with any) ([]byte, error) {
	var text strings.Builder
	err := t.Execute(&text, with)
	return []byte(text.String()), err
}

var functions = template.FuncMap{
	"xml": func(text string) (string, error) {
		var out strings.Builder
		err := xml.EscapeText(&out, []byte(text))
		return out.String(), err
	},
	"pages":  func(f file) bool { return f.Type == xhtml && f.Properties != "nav" },
	"time":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"number": func(i int) string { return fmt.Sprint("f", i) },
}

const container = `<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
`

var packageTemplate = template.Must(template.New("package").Funcs(functions).Parse(`<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{{xml .Published}}/</dc:identifier>
<dc:title>Loopwright: how Kubernetes controllers work</dc:title>
<dc:creator>The authors of Loopwright</dc:creator>
<dc:language>en</dc:language>
<meta property="dcterms:modified">{{time .Changed}}</meta>
</metadata>
<manifest>
{{range $i, $f := .Files}}<item id="{{number $i}}" href="{{xml .Name}}" media-type="{{.Type}}"{{with .Properties}} properties="{{.}}"{{end}}/>
{{end}}</manifest>
<spine>
{{range $i, $f := .Files}}{{if pages $f}}<itemref idref="{{number $i}}"/>
{{end}}{{end}}</spine>
</package>
`))

var contentsTemplate = template.Must(template.New("contents").Funcs(functions).Parse(`<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" xml:lang="en" lang="en">
<head><title>Contents</title></head>
<body><nav epub:type="toc"><h1>Contents</h1>{{template "list" .Parts}}</nav></body>
</html>
{{define "list"}}<ol>{{range .}}<li><a href="{{xml .Link}}">{{xml .Title}}</a>{{with .Items}}{{template "list" .}}{{end}}</li>
{{end}}</ol>{{end}}`))
