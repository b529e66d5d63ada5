package serve

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func book(t *testing.T, files ...string) http.Handler {
	t.Helper()
	dir := t.TempDir()
	for _, file := range files {
		at := filepath.Join(dir, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte("this is "+file), 0o644))
	}
	return Handler(dir, "/")
}

func get(handler http.Handler, method, address string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(method, address, nil))
	return answer
}

func TestAnAddressWithoutAnEndingIsAPage(t *testing.T) {
	handler := book(t, "index.html", "docs/architecture.html", "chapters/01/index.html", "source/a.go.html")
	for _, c := range []struct{ address, file string }{
		{"/", "index.html"},
		{"/docs/architecture", "docs/architecture.html"},
		{"/docs/architecture.html", "docs/architecture.html"},
		{"/chapters/01/", "chapters/01/index.html"},
		{"/chapters/01/index.html", "chapters/01/index.html"},
		{"/source/a.go.html", "source/a.go.html"},
	} {
		answer := get(handler, http.MethodGet, c.address)
		assert.Equal(t, http.StatusOK, answer.Code, c.address)
		assert.Equal(t, "this is "+c.file, answer.Body.String(), c.address)
	}
}

func TestADirectoryGetsItsSlashSoThatItsLinksLeadFromThere(t *testing.T) {
	answer := get(book(t, "chapters/01/index.html"), http.MethodGet, "/chapters/01")
	assert.Equal(t, http.StatusMovedPermanently, answer.Code)
	assert.Equal(t, "/chapters/01/", answer.Header().Get("Location"))
}

func TestABookThatIsPublishedBelowAPathIsServedThere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "docs"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("start"), 0o644))
	handler := Handler(dir, "/loopwright/")
	assert.Equal(t, "start", get(handler, http.MethodGet, "/loopwright/").Body.String())
	assert.Equal(t, "/loopwright/", get(handler, http.MethodGet, "/").Header().Get("Location"))
	assert.Equal(t, "/loopwright/docs/", get(handler, http.MethodGet, "/loopwright/docs").Header().Get("Location"))
}

func TestWhatIsNotThereIsThePageThatSaysSo(t *testing.T) {
	handler := book(t, "404.html", "docs/a.html")
	for _, address := range []string{"/nothing", "/docs/", "/docs/b.html", "/../secret"} {
		answer := get(handler, http.MethodGet, address)
		assert.Equal(t, http.StatusNotFound, answer.Code, address)
		assert.Equal(t, "this is 404.html", answer.Body.String(), address)
	}
}

func TestNothingOutsideOfTheBookIsServed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.html"), []byte("secret"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "book"), 0o755))
	handler := Handler(filepath.Join(dir, "book"), "/")
	for _, address := range []string{"/../secret.html", "/..%2fsecret.html", "/%2e%2e/secret"} {
		answer := get(handler, http.MethodGet, address)
		assert.Equal(t, http.StatusNotFound, answer.Code, address)
		assert.NotContains(t, answer.Body.String(), "secret", address)
	}
}

func TestScriptsAndModulesHaveTheTypesThatBrowsersInsistOn(t *testing.T) {
	files := map[string]string{
		"a.js": "text/javascript; charset=utf-8", "a.css": "text/css; charset=utf-8", "a.svg": "image/svg+xml",
		"a.wasm": "application/wasm", "a.wasm.gz": "application/gzip", "a.bin": "application/octet-stream",
	}
	for _, file := range []string{"a.js", "a.css", "a.svg", "a.wasm", "a.wasm.gz", "a.bin"} {
		answer := get(book(t, file), http.MethodGet, "/"+file)
		assert.Equal(t, files[file], answer.Header().Get("Content-Type"))
		assert.Empty(t, answer.Header().Get("Content-Encoding"), "a figure unpacks its module itself")
	}
}

func TestABookIsOnlyRead(t *testing.T) {
	assert.Equal(t, http.StatusMethodNotAllowed, get(book(t, "index.html"), http.MethodPost, "/").Code)
}
