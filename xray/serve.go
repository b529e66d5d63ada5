package xray

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Serve shows a recorder to browsers on this machine until ctx ends. It returns the address of the
// page, which has the buttons of steps, unless that is nil. It's for demos: a manager serves the
// page itself.
func Serve(
	ctx context.Context, recorder *trace.Recorder, steps *Steps,
) (address string, err error) {
	x := New(recorder)
	x.steps = steps
	address, ended, err := listen(ctx, x)
	if err != nil {
		return "", err
	}
	go func() { <-ended }() // it ends with ctx, and there's nobody to tell
	return address, nil
}

// ServeFile shows a recording until ctx ends, and calls ready with the address of the page.
func ServeFile(ctx context.Context, path string, ready func(address string)) error {
	if err := checkRecording(path); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("recording") {
			name := url.QueryEscape("recording/" + filepath.Base(path))
			http.Redirect(w, r, "/?recording="+name, http.StatusFound)
			return
		}
		servePage(w)
	})
	mux.HandleFunc("GET /recording/", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, path)
	})
	address, ended, err := listen(ctx, loopbackOnly(mux))
	if err != nil {
		return err
	}
	ready(address)
	return <-ended
}

// Page returns the page with a recording in it: one file, which needs neither a server nor a
// network.
func Page(name string, recording []byte) []byte {
	// In JSON, "<" stands in strings only. It must not end the script.
	lines := bytes.ReplaceAll(recording, []byte("<"), []byte(`\u003c`))
	var embedded bytes.Buffer
	fmt.Fprintf(&embedded, "<script type=\"text/plain\" id=\"recording\" data-name=\"%s\">\n%s</script>\n",
		html.EscapeString(name), lines)
	return bytes.Replace(page, []byte("<div id=\"xray\">"),
		append(embedded.Bytes(), "<div id=\"xray\">"...), 1)
}

// listen serves on a free port. ended receives why it has ended: nil if ctx has.
func listen(ctx context.Context, handler http.Handler) (address string, ended <-chan error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("opening a port for X-ray: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	result := make(chan error, 1) // sent once, by this goroutine
	go func() {
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		err := server.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		result <- err
	}()
	return fmt.Sprintf("http://%s/", listener.Addr()), result, nil
}

func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostIsExpected(r) {
			http.Error(w, "open it as localhost", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkRecording looks at the first line of a file: a wrong one is found before a browser opens.
func checkRecording(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var first struct {
		Seq  uint64
		Time time.Time
		Kind string
	}
	line, err := bufio.NewReader(file).ReadBytes('\n')
	if len(line) > 0 {
		err = json.Unmarshal(line, &first)
	}
	if err != nil || first.Seq == 0 || first.Kind == "" {
		return fmt.Errorf("%s isn't a recording: X-ray saves one, and so does GET %srecording",
			path, Path)
	}
	return nil
}
