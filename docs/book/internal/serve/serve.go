// Package serve shows a built book on this machine.
//
// Neighbours: internal/folder has made the folder ready; cmd/book calls this one.
package serve

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
)

// types are the media types of what a book has. The system's own table differs from
// machine to machine, and some browsers insist on these.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".gif":  "image/gif",
	".wasm": "application/wasm",
	".gz":   "application/gzip", // a figure unpacks its module itself
}

// Handler serves the book in dir below base, which is "/" or the path for which it was
// built, with the addresses that VitePress writes: docs/architecture is the file
// docs/architecture.html.
func Handler(dir, base string) http.Handler {
	book := os.DirFS(dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this is a book: it can be read", http.StatusMethodNotAllowed)
			return
		}
		below, ok := strings.CutPrefix(r.URL.Path, base)
		if !ok {
			http.Redirect(w, r, base, http.StatusFound)
			return
		}
		name := path.Clean("/" + below)[1:]
		status := http.StatusOK
		switch {
		case isDir(book, name) && below != "" && !strings.HasSuffix(below, "/"):
			http.Redirect(w, r, base+name+"/", http.StatusMovedPermanently)
			return
		case isDir(book, name):
			name = path.Join(name, "index.html")
		case !isFile(book, name) && isFile(book, name+".html"):
			name += ".html"
		}
		text, err := fs.ReadFile(book, name)
		if errors.Is(err, fs.ErrNotExist) {
			name, status = "404.html", http.StatusNotFound
			text, err = fs.ReadFile(book, name)
		}
		if err != nil {
			http.Error(w, "there is no such page", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", cmp.Or(types[path.Ext(name)], "application/octet-stream"))
		w.Header().Set("Cache-Control", "no-cache") // the next `make book` may have changed it
		w.WriteHeader(status)
		_, _ = w.Write(text)
	})
}

func isDir(book fs.FS, name string) bool {
	if name == "" {
		return true
	}
	info, err := fs.Stat(book, name)
	return err == nil && info.IsDir()
}

func isFile(book fs.FS, name string) bool {
	info, err := fs.Stat(book, name)
	return err == nil && info.Mode().IsRegular()
}
