package folder

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// What VitePress writes, as far as it matters here.
const built = `
-- index.html --
<html><head><link rel="stylesheet" href="BASEassets/style.css"><link rel="modulepreload" href="BASEassets/page.js">
<script type="module" src="BASEassets/app.js"></script><script>let x = "<a href='BASEx'>"</script></head>
<body><div id="app"><a href="BASEdocs/one#there">one</a><a href="BASEchapters/01/">first</a><a href="https://example.com/">out</a><a href="docs/one.html">in</a></div></body></html>
-- docs/one.html --
<html><head><script type="module" src="BASEassets/app.js"></script></head>
<body><h2 id="there">There</h2><a href="BASE">home</a><img src="BASEbook/icon.svg"><a href="#there">here</a></body></html>
-- chapters/01/index.html --
<html><head><script type="module" src="BASEassets/app.js"></script></head><body><a href="BASEdocs/one">one</a></body></html>
-- source/a.go.html --
<html><body><a href="../index.html">book</a></body></html>
-- 404.html --
<html><head><script type="module" src="BASEassets/app.js"></script></head><body><a href="BASE">home</a></body></html>
-- assets/style.css --
-- assets/app.js --
-- assets/page.js --
-- assets/chunks/@localSearchIndexroot.abc.js --
const e='{"index":"it\'s"}';export{e as default};
-- book/icon.svg --
-- book/start.js --
`

func write(t *testing.T, base, more string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range append(txtar.Parse([]byte(built)).Files, txtar.Parse([]byte(more)).Files...) {
		at := filepath.Join(dir, filepath.FromSlash(file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, bytes.ReplaceAll(file.Data, []byte("BASE"), []byte(base)), 0o644))
	}
	return dir
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	require.NoError(t, err)
	return string(text)
}

func TestLinksBecomeRelativeSoThatTheyWorkFromAFolder(t *testing.T) {
	for _, base := range []string{"/", "/loopwright/"} {
		dir := write(t, base, "")
		require.NoError(t, Make(dir, base))
		start := read(t, dir, "index.html")
		for _, want := range []string{
			`<a href="docs/one.html#there">`, `<a href="chapters/01/index.html">`, `<a href="https://example.com/">`,
			`<a href="docs/one.html">`, `<link rel="stylesheet" href="assets/style.css">`,
			`let x = "<a href='` + base + `x'>"`, // what scripts say is theirs
		} {
			assert.Contains(t, start, want, base)
		}
		one := read(t, dir, "docs/one.html")
		assert.Contains(t, one, `<a href="../index.html">home</a><img src="../book/icon.svg"><a href="#there">`)
		require.NoError(t, Check(dir))
	}
}

func TestModulesAreLoadedByAScriptThatKnowsWhetherItMay(t *testing.T) {
	dir := write(t, "/loopwright/", "")
	require.NoError(t, Make(dir, "/loopwright/"))
	start := read(t, dir, "index.html")
	assert.NotContains(t, start, `type="module"`)
	assert.NotContains(t, start, "modulepreload")
	assert.Contains(t, start, `<script src="book/start.js" data-base="/loopwright/" data-modules="assets/app.js assets/page.js"></script></body>`)
	assert.Contains(t, read(t, dir, "docs/one.html"), `<script src="../book/start.js"`)
}

func TestTheAnswerForWhatIsNotThereKeepsItsLinks(t *testing.T) {
	dir := write(t, "/", "")
	require.NoError(t, Make(dir, "/"))
	assert.Contains(t, read(t, dir, "404.html"), `<a href="/">home</a>`)
}

func TestTheSearchIndexBecomesAClassicScript(t *testing.T) {
	dir := write(t, "/", "")
	require.NoError(t, Make(dir, "/"))
	assert.Equal(t, "(function(){const e='{\"index\":\"it\\'s\"}';window.loopwrightSearchIndex=e})()\n", read(t, dir, "book/search-index.js"))
}

func TestASecondTimeNothingChanges(t *testing.T) {
	dir := write(t, "/", "")
	require.NoError(t, Make(dir, "/"))
	before := read(t, dir, "index.html")
	require.NoError(t, Make(dir, "/"))
	assert.Equal(t, before, read(t, dir, "index.html"))
}

func TestALinkOfTheMenuThatLeadsNowhereIsAnError(t *testing.T) {
	dir := write(t, "/", "-- docs/two.html --\n<script type=\"module\" src=\"/assets/app.js\"></script><a href=\"/docs/three\">x</a>\n")
	assert.EqualError(t, Make(dir, "/"), "making the book work from a folder: docs/two.html, <a>: a link to /docs/three, and the book has no such page")
}

func TestAnIndexOfAnotherFormIsAnErrorAndNotASearchThatFindsNothing(t *testing.T) {
	dir := write(t, "/", "-- assets/chunks/@localSearchIndexroot.abc.js --\nmodule.exports = 1\n")
	assert.ErrorContains(t, Make(dir, "/"), "does not end with an export")
}

func TestTheCheckFindsDeadLinksAndAnchors(t *testing.T) {
	for _, c := range []struct{ link, want string }{
		{"docs/nothing.html", "index.html: docs/nothing.html leads to docs/nothing.html, which is not there"},
		{"docs/one.html#nowhere", "index.html: docs/one.html#nowhere leads to an anchor that docs/one.html does not have"},
		{"/docs/one", "index.html: /docs/one does not work from a folder: it begins with a slash"},
		{"docs", "index.html: docs leads to docs, which is not there"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "docs", "one.html"), []byte(`<p id="there">`), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte(`<a href="docs/one.html#there"><a href="`+c.link+`">`), 0o644))
		assert.EqualError(t, Check(dir), c.want)
	}
}
