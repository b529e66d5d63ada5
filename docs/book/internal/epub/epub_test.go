package epub

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/internal/pages"
	"github.com/loopwright/loopwright/internal/course"
)

const published = "https://example.com/book"

// open makes an EPUB of a directory with pages/ and public/, and returns its files and their order.
func open(t *testing.T, dir string) (files map[string]string, order []*zip.File) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Write(&out, Options{
		Pages: filepath.Join(dir, "pages"), Public: filepath.Join(dir, "public"),
		Published: published, Changed: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}))
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	files = map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[f.Name] = string(text)
	}
	return files, z.File
}

// page is what a page of the file has.
type page struct {
	ids   map[string]bool
	leads []string // where its links, pictures and style sheets are
}

// parse reads a file as strictly as an e-reader does.
func parse(t *testing.T, name, text string) page {
	t.Helper()
	p := page{ids: map[string]bool{}}
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			return p
		}
		require.NoError(t, err, name)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			switch a.Name.Local {
			case "id":
				assert.False(t, p.ids[a.Value], "%s: two elements are called %s", name, a.Value)
				p.ids[a.Value] = true
			case "href", "src":
				p.leads = append(p.leads, a.Value)
			}
		}
	}
}

func TestTheWholeCourseIsInTheFile(t *testing.T) {
	root, err := course.FindRoot(".")
	require.NoError(t, err)
	site, err := pages.Open(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, site.Write(dir))
	files, order := open(t, dir)

	assert.Equal(t, "mimetype", order[0].Name, "a reader looks for it at the beginning")
	assert.Equal(t, zip.Store, order[0].Method)
	assert.Empty(t, order[0].Extra)
	assert.Equal(t, "application/epub+zip", files["mimetype"])
	assert.Contains(t, files["META-INF/container.xml"], `full-path="book/package.opf"`)

	parsed := map[string]page{}
	for name, text := range files {
		if strings.HasSuffix(name, ".xhtml") || strings.HasSuffix(name, ".opf") || strings.HasSuffix(name, ".xml") {
			parsed[name] = parse(t, name, text)
		}
	}
	listed := map[string]bool{"mimetype": true, "META-INF/container.xml": true, "book/package.opf": true}
	for _, lead := range parsed["book/package.opf"].leads {
		listed[path.Join("book", lead)] = true
	}
	for name := range files {
		assert.True(t, listed[name], "the package doesn't list %s", name)
	}
	inside := 0
	for name, p := range parsed {
		for _, lead := range p.leads {
			to, err := url.Parse(lead)
			require.NoError(t, err, "%s: %s", name, lead)
			if to.IsAbs() {
				continue
			}
			inside++
			at := name
			if to.Path != "" {
				at = path.Join(path.Dir(name), to.Path)
			}
			assert.Contains(t, files, at, "%s leads to %s", name, lead)
			if to.Fragment != "" {
				assert.True(t, parsed[at].ids[to.Fragment], "%s leads to %s, and nothing there is called that", name, lead)
			}
		}
	}
	assert.Greater(t, inside, 500)
	chapters, err := filepath.Glob(filepath.Join(root, "chapters", "*", "chapter.yaml"))
	require.NoError(t, err)
	contents, package_ := files["book/contents.xhtml"], files["book/package.opf"]
	for _, chapter := range chapters {
		at := "chapters/" + filepath.Base(filepath.Dir(chapter)) + "/index.xhtml"
		assert.Contains(t, contents, at)
		assert.Contains(t, package_, at)
	}
}

// written is a small book.
func written(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pages/menu.json": `[{"text": "Part 1: Watching", "items": [{"text": "1. List & watch", "link": "/chapters/01/",
			"items": [{"text": "The exercise", "link": "/chapters/01/exercise"}]}]}, {"text": "Reference", "items": [{"text": "Other", "link": "/docs/other"}]}]`,
		"pages/chapters/01/index.md":    "---\ntitle: x\n---\n" + text,
		"pages/chapters/01/exercise.md": "---\ntitle: x\n---\n<p id=\"here\">Write it.</p>",
		"pages/docs/glossary.md":        "---\ntitle: x\n---\n<h2 id=\"watch\">watch</h2>",
		"public/book/card.png":          "png", "public/chapters/01/map.svg": "<svg/>",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	return dir
}

func TestALinkStaysInTheFileIfItsPageIsInIt(t *testing.T) {
	files, _ := open(t, written(t, `<p><a href="exercise.html#here">a</a> <a href="../../docs/glossary.html#watch">b</a>
<a href="../../docs/other.html#top" target="_self">c</a> <a href="https://kubernetes.io/">d</a> <a href="#e">e</a> <a href="slides.html">f</a></p>`))
	text := files["book/chapters/01/index.xhtml"]
	assert.Equal(t, []string{"../../style.css", "exercise.xhtml#here", "../../docs/glossary.xhtml#watch",
		published + "/docs/other.html#top", "https://kubernetes.io/", "#e", published + "/chapters/01/slides.html"}, parse(t, "", text).leads)
	assert.Contains(t, files["book/contents.xhtml"], `<li><a href="chapters/01/index.xhtml">Part 1: Watching</a><ol><li><a href="chapters/01/index.xhtml">1. List &amp; watch</a><ol><li><a href="chapters/01/exercise.xhtml">The exercise</a></li>`)
	assert.NotContains(t, files["book/package.opf"], "other")
}

func TestWhatOnlyABrowserCanDoIsNotInTheFile(t *testing.T) {
	files, _ := open(t, written(t, `<h2 id="a" tabindex="-1">A <a class="header-anchor" href="#a">&#8203;</a></h2><br>
<div v-pre class="text"><button class="copy"></button><span class="lang">go</span><pre class="chroma" tabindex="0"><code>a &lt; b</code></pre></div>
<loop-run program="06-queue" question="how many?"></loop-run><loop-figure name="queue"><img src="map.svg" alt="the queue"></loop-figure>`))
	text := files["book/chapters/01/index.xhtml"]
	assert.Contains(t, text, `<h2 id="a">A </h2><br/>
<div class="text"><pre class="chroma"><code>a &lt; b</code></pre></div>
<div><img src="map.svg" alt="the queue"/></div>`)
	assert.Equal(t, "<svg/>", files["book/chapters/01/map.svg"])
}

func TestADiagramHasItsColorsInIt(t *testing.T) {
	files, _ := open(t, written(t, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" style="--fg:var(--diagram-text);--bg:var(--diagram-bg); --_text: var(--fg); --_faint: var(--muted, color-mix(in srgb, var(--fg) 25%, var(--bg))); --_loop: var(--_loop)"><rect x="1" fill="var(--nowhere, color-mix(in srgb, var(--fg) 50%, var(--bg)))" stroke="none"/><rect fill="var(--_text)" stroke="var(--_faint)"/><rect fill="var(--nowhere, none)"/><rect fill="var(--_loop)"/></svg>`))
	text := files["book/chapters/01/index.xhtml"]
	assert.Contains(t, text, `<rect x="1" fill="#929497" stroke="none"></rect>`, "a color may have parentheses")
	assert.Contains(t, text, `<rect fill="#24292f" stroke="#c8cacb"></rect><rect fill="none"></rect>`)
	assert.Contains(t, files["book/package.opf"], `href="chapters/01/index.xhtml" media-type="application/xhtml+xml" properties="svg"`)
	assert.NotContains(t, text, "color-mix")
}

func TestWhatIsMissingIsAnErrorThatNamesIt(t *testing.T) {
	for what, change := range map[string]func(dir string) error{
		"map.png":   func(dir string) error { return nil },
		"exercise":  func(dir string) error { return os.Remove(filepath.Join(dir, "pages/chapters/01/exercise.md")) },
		"menu.json": func(dir string) error { return os.WriteFile(filepath.Join(dir, "pages/menu.json"), []byte("{"), 0o666) },
		"front matter": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "pages/chapters/01/exercise.md"), []byte("<p>"), 0o666)
		},
	} {
		dir := written(t, `<img src="map.png">`)
		require.NoError(t, change(dir))
		err := Write(io.Discard, Options{Pages: filepath.Join(dir, "pages"), Public: filepath.Join(dir, "public")})
		require.ErrorContains(t, err, what)
		require.ErrorContains(t, err, "writing the EPUB: ")
	}
}
