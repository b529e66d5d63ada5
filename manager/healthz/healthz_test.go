package healthz

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

var broken Checker = func(*http.Request) error { return errors.New("the disk is full") }

func ask(h http.Handler, target string) (int, string, http.Header) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w.Code, w.Body.String(), w.Result().Header
}

func TestTheHandlerAnswersAsControllerRuntimesDoes(t *testing.T) {
	none := &Handler{}
	good := &Handler{Checks: map[string]Checker{"disk": Ping, "net": Ping}}
	bad := &Handler{Checks: map[string]Checker{"disk": broken, "net": Ping, "cache": Ping}}
	type answer struct {
		code int
		body string
	}
	for name, c := range inorder.Map(map[string]struct {
		handler *Handler
		path    string
		want    answer
	}{
		"all is well": {good, "/", answer{200, "ok"}},
		"all is well, with a list": {good, "/?verbose",
			answer{200, "[+]disk ok\n[+]net ok\nhealthz check passed\n"}},
		"a failure is always a list": {bad, "/",
			answer{500, "[+]cache ok\n[-]disk failed: reason withheld\n[+]net ok\nhealthz check " +
				"failed\n"}},
		"what is excluded is not asked": {bad, "/?exclude=disk", answer{200, "ok"}},
		"several are excluded": {bad, "/?exclude=disk&exclude=net&verbose=1",
			answer{200, "[+]cache ok\n[+]disk excluded: ok\n[+]net excluded: ok\nhealthz check " +
				"passed\n"}},
		"what is not there cannot be excluded": {good, "/?exclude=moon&exclude=mars&verbose",
			answer{200, "[+]disk ok\n[+]net ok\nwarn: some health checks cannot be excluded: no " +
				"matches for \"mars\",\"moon\"\nhealthz check passed\n"}},
		"one that is not there, either": {good, "/?exclude=moon&verbose",
			answer{200, "[+]disk ok\n[+]net ok\nwarn: some health checks cannot be excluded: no " +
				"matches for \"moon\"\nhealthz check passed\n"}},
		"a warning alone is not shown": {good, "/?exclude=moon", answer{200, "ok"}},
		"one check that is well":       {bad, "/net", answer{200, "ok"}},
		"one check tells its reason": {bad, "/disk",
			answer{500, "internal server error: the disk is full\n"}},
		"one check, and its path is not clean": {bad, "//net/", answer{200, "ok"}},
		"a check that nobody knows": {bad, "/moon",
			answer{404, "404 page not found\n"}},
		"a path below a check": {bad, "/net/moon",
			answer{404, "404 page not found\n"}},
		"without checks there is ping": {none, "/?verbose",
			answer{200, "[+]ping ok\nhealthz check passed\n"}},
		"ping by its name": {none, "/ping", answer{200, "ok"}},
		"ping is gone when there is something": {good, "/ping",
			answer{404, "404 page not found\n"}},
		"another name than ping without checks": {none, "/moon",
			answer{404, "404 page not found\n"}},
		"ping may be excluded": {none, "/?exclude=ping&verbose",
			answer{200, "[+]ping excluded: ok\nhealthz check passed\n"}},
	}) {
		t.Run(name, func(t *testing.T) {
			code, body, _ := ask(c.handler, c.path)
			require.Equal(t, c.want, answer{code, body})
		})
	}
}

// In controller-runtime, only the root runs a check whose name begins with a slash.
func TestACheckHasAPathWhateverItsNameIs(t *testing.T) {
	checks := &Handler{Checks: map[string]Checker{"db/main": broken, "/disk": broken,
		"net//": broken, "café 100%?": broken, "/cache": Ping, "cache": broken}}
	for _, path := range []string{
		"/db/main", "/disk", "/net", "/net/", "/caf%C3%A9%20100%25%3F", "/cache",
	} {
		code, body, _ := ask(checks, path)
		require.Equal(t, 500, code, path)
		require.Contains(t, body, "the disk is full", path)
	}
	code, _, _ := ask(checks, "/db")
	require.Equal(t, 404, code)
}

func TestTheHandlerWorksBelowAPath(t *testing.T) {
	mux := http.NewServeMux()
	handler := http.StripPrefix("/healthz", &Handler{Checks: map[string]Checker{"disk": broken}})
	mux.Handle("/healthz", handler)
	mux.Handle("/healthz/", handler)
	code, _, _ := ask(mux, "/healthz")
	require.Equal(t, 500, code)
	_, body, _ := ask(mux, "/healthz/disk")
	require.Contains(t, body, "the disk is full")
}

// Names of checks come from the program, but a browser must not run what it is shown.
func TestAListIsPlainText(t *testing.T) {
	for _, h := range []*Handler{{}, {Checks: map[string]Checker{"disk": broken}}} {
		_, _, header := ask(h, "/?verbose")
		require.Equal(t, "text/plain; charset=utf-8", header.Get("Content-Type"))
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
	}
}

// The list does not say why a check failed, so whoever runs the program must find it somewhere
// else.
func TestTheReasonOfAFailureIsInTheLogAndNothingElse(t *testing.T) {
	var lines []string
	defer func(was logr.Logger) { logger = was }(logger)
	logger = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	ask(&Handler{Checks: map[string]Checker{"disk": Ping}}, "/")
	require.Empty(t, lines)
	ask(&Handler{Checks: map[string]Checker{"disk": broken, "net": Ping}}, "/")
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "healthz check failed")
	require.Contains(t, lines[0], "disk: the disk is full")
}

func TestACheckSeesTheClientsRequest(t *testing.T) {
	h := &Handler{Checks: map[string]Checker{"who": func(req *http.Request) error {
		if req.Header.Get("User-Agent") != "kubelet" {
			return errors.New("a stranger")
		}
		return nil
	}}}
	w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("User-Agent", "kubelet")
	h.ServeHTTP(w, req)
	require.Equal(t, 200, w.Code)
}
