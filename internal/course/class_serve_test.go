package course

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// serverOf serves a page without a network. It stores what is handed in in a directory of its own.
func serverOf(t *testing.T) (s *classServer, dir string) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	return &classServer{token: "abc", dir: root}, dir
}

func (s *classServer) answer(r *http.Request) (code int, body string) {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (s *classServer) page(t *testing.T) string {
	t.Helper()
	code, body := s.answer(httptest.NewRequest(http.MethodGet, "/?token=abc", nil))
	require.Equal(t, http.StatusOK, code, body)
	return body
}

// handingIn is the request that a browser makes of the form.
func handingIn(t *testing.T, file, text string) *http.Request {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("solutions", file)
	require.NoError(t, err)
	_, err = io.WriteString(part, text)
	require.NoError(t, err)
	require.NoError(t, form.Close())
	r := httptest.NewRequest(http.MethodPost, "/hand-in?token=abc", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Origin", "http://"+r.Host)
	return r
}

// words are the text of a page.
func words(page string) string {
	_, body, _ := strings.Cut(page, "<body>")
	return gotest.OneLine(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " "))
}

// A teacher at the projector decides by it whether the class goes on.
func TestTheRoomSeesHowFarTheClassIsAndWhere(t *testing.T) {
	t.Parallel()
	s, _ := serverOf(t)
	assert.NotContains(t, s.page(t), "Judging")
	s.begin()
	assert.Contains(t, s.page(t), "Judging ...")

	queue := Exercise{Number: 6, Name: "06-queue", Replaces: "mini/queue.go"}
	queue.Tests = make([]string, 16)
	lease := Exercise{Number: 13, Name: "13-lease", Replaces: "mini/lease.go"}
	c := &class{exercises: []Exercise{queue, lease}, verdicts: map[string][]verdict{
		lease.Name: {{state: notBegun}, {state: notBegun}, {state: notBegun}, {state: notBegun},
			{state: notBegun}, {state: notBegun}, {state: notBegun}},
		queue.Name: {{state: notBegun}, {"4 of 16", "It panics"}, {state: solved}, {"12 of 16", ""},
			{string(gotest.NoCompile), "typo"}, {"4 of 16", ""}, {state: filledIn}},
	}}
	for _, name := range []string{"anna", "ben", "cleo", "<b>dora", "emil", "fay", "gina"} {
		c.homes = append(c.homes, learnerHome{name: name})
	}
	c.leftOut = []string{"zoe.zip is left out"}
	s.show(c, nil, time.Date(2026, 5, 1, 9, 30, 0, 0, time.UTC))
	page := s.page(t)
	text := words(page)
	assert.NotContains(t, text, "Judging")
	assert.Contains(t, text, "Judged at 09:30.")
	assert.Contains(t, text, "6: my/06-queue/queue.go 1 of 7 solved, 4 on the way 1 1 2 1 1 1 "+
		"solved: 1 12 of 16: 1 4 of 16: 2 does not compile: 1 filled in: 1 not begun: 1")
	assert.Contains(t, page, `<span class="on-the-way" style="flex-grow: 2">2</span>`)
	assert.Contains(t, text, "Exercises that nobody has begun: 1.")
	assert.NotContains(t, text, "lease")
	assert.Contains(t, text, "Learners learner 6 solved anna not begun 0 ben 4 of 16 0 cleo solved 1 &lt;b&gt;dora 12 of 16 0")
	assert.Contains(t, text, "zoe.zip is left out")
	assert.NotContains(t, text, "panics", "what does not hold is between the teacher and the learner")

	s.show(nil, errors.New("a typo <b> in the tree: `go vet` says more"), time.Now())
	assert.Contains(t, s.page(t), "a typo &lt;b&gt; in the tree: <code>go vet</code> says more")
	text = words(s.page(t))
	assert.Contains(t, text, "ben 4 of 16", "the last result is still there")
}

// The first page of a day is on the projector, and learners must find in it what to do.
func TestThePageOfAnEmptyClassSaysHowToHandIn(t *testing.T) {
	t.Parallel()
	s, dir := serverOf(t)
	r := tinyTree(t, nil)
	put(t, dir, "zoe.zip", "PK")
	_, err := r.judgeClass(t.Context(), dir, ClassOptions{}, io.Discard)
	s.show(nil, err, time.Date(2026, 5, 1, 9, 30, 0, 0, time.UTC))
	page := s.page(t)
	text := words(page)
	assert.Contains(t, text, "Judged at 09:30.")
	assert.Contains(t, text, "Nobody has handed in yet.")
	assert.Contains(t, page, "<code>make submit NAME=ada</code>")
	assert.Contains(t, page, `<a href="hand-in?token=abc">Hand in</a> that file.`)
	assert.Contains(t, text, "zoe.zip is left out: unpack it")
	assert.NotContains(t, text, "there are no learners")
	assert.NotContains(t, text, "`")

	s.show(&class{homes: []learnerHome{{name: "ada"}}}, nil, time.Now())
	assert.NotContains(t, words(s.page(t)), "Nobody has handed in yet.")
}

// What is on the projector is typed by people at other machines.
func TestThePageShowsTheAddressThatOthersCanType(t *testing.T) {
	t.Parallel()
	s, _ := serverOf(t)
	for _, c := range []struct{ opened, room, shown string }{
		{"127.0.0.1:8080", "192.168.1.5:8080", "192.168.1.5:8080"},
		{"localhost:8080", "192.168.1.5:8080", "192.168.1.5:8080"},
		{"10.0.0.7:8080", "192.168.1.5:8080", "10.0.0.7:8080"},
		{"[2001:db8::7]:8080", "192.168.1.5:8080", "[2001:db8::7]:8080"},
		{"127.0.0.1:8080", "", "127.0.0.1:8080"},
	} {
		if s.room = nil; c.room != "" {
			s.room = []string{c.room}
		}
		r := httptest.NewRequest(http.MethodGet, "/?token=abc", nil)
		r.Host = c.opened
		_, page := s.answer(r)
		assert.Contains(t, page, `<p class="address">http://`+c.shown+"/?token=abc</p>", c.opened)
	}
}

// What a verdict says and a bar does not count is a learner that the teacher does not see.
func TestABarCountsEveryLearner(t *testing.T) {
	t.Parallel()
	e := Exercise{Tests: []string{"TestA", "TestB", "TestC"}}
	verdicts := []verdict{{state: notBegun}, {state: filledIn}}
	for _, f := range []gotest.Failure{
		{Status: gotest.Passed}, {Status: gotest.NoCompile}, {Status: gotest.Failing}, {Status: gotest.TimedOut, Test: "TestA"},
		{Status: gotest.Panicked, Test: "TestB/x", Passed: 1}, {Status: gotest.Failing, Test: "TestC", Passed: 2},
	} {
		verdicts = append(verdicts, verdictOf(e, f))
	}
	b := newBar(&class{verdicts: map[string][]verdict{"": verdicts}}, e)
	var states []string
	for _, s := range b.Segments {
		states = append(states, s.State)
	}
	assert.Equal(t, []string{"solved", "2 of 3", "1 of 3", "0 of 3", "not yet", "does not compile",
		"filled in", "not begun"}, states)
	assert.Equal(t, 1, b.Solved)
	assert.Equal(t, 5, b.OnTheWay)
}

// The network of a room has other people in it.
func TestThePageIsOnlyForThoseWhoHaveTheToken(t *testing.T) {
	t.Parallel()
	s, dir := serverOf(t)
	for _, query := range []string{"", "?token=", "?token=ab", "?token=abcd", "?token=ABC", "?Token=abc"} {
		code, body := s.answer(httptest.NewRequest(http.MethodGet, "/"+query, nil))
		assert.Equal(t, http.StatusForbidden, code, query)
		assert.Contains(t, body, "Open the whole address that your teacher shows you", query)
		r := handingIn(t, "ada.txtar", "-- 01-sum/sum.go --\n")
		r.URL.RawQuery = strings.TrimPrefix(query, "?")
		code, _ = s.answer(r)
		assert.Equal(t, http.StatusForbidden, code, query)
	}
	assert.Empty(t, filesIn(t, dir))
	assert.NotEqual(t, newToken(), newToken())
	assert.Regexp(t, `^[a-z2-7]{10}$`, newToken(), "people type it")
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, entry := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, entry.Name())) // a directory has none
		files[entry.Name()] = string(text)
	}
	return files
}

func TestALearnerHandsInAndMayDoItAgain(t *testing.T) {
	t.Parallel()
	s, dir := serverOf(t)
	put(t, dir, "ben.txtar", "Ben's")
	code, body := s.answer(httptest.NewRequest(http.MethodGet, "/hand-in?token=abc", nil))
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, `<form method="post" action="hand-in?token=abc"`)
	assert.NotContains(t, body, "refresh", "it would forget the file that is chosen")
	for _, text := range []string{"-- 01-sum/sum.go --\n1\n", "-- 01-sum/sum.go --\n2\n"} {
		code, body = s.answer(handingIn(t, "Ada Lovelace.txtar", text))
		assert.Equal(t, http.StatusOK, code, body)
		assert.Contains(t, words(body), "Ada-Lovelace.txtar is handed in.")
		assert.Equal(t, map[string]string{"ben.txtar": "Ben's", "Ada-Lovelace.txtar": text}, filesIn(t, dir))
	}
}

// The directory is the teacher's, and may have other things in it.
func TestNothingElseCanBeHandedIn(t *testing.T) {
	t.Parallel()
	s, dir := serverOf(t)
	put(t, dir, "notes.md", "the teacher's")
	put(t, dir, "taken.txtar/notes.md", "the teacher's")
	before := filesIn(t, dir)
	const good = "-- 01-sum/sum.go --\n"
	for _, c := range []struct {
		file, text string
		code       int
		problem    string
	}{
		{"notes.md", good, http.StatusBadRequest, "does not end with .txtar"},
		{".txtar", good, http.StatusBadRequest, "who are you?"},
		{".hidden.txtar", good, http.StatusBadRequest, "cannot be the name of your file"},
		{`..\ada.txtar`, good, http.StatusBadRequest, "cannot be the name of your file"},
		{"ada.txtar", "", http.StatusBadRequest, "there are no solutions in it"},
		{"ada.txtar", "-- ../../go.mod --\n", http.StatusBadRequest, "there are no solutions in it"},
		{"ada.txtar", good + strings.Repeat("x", 1<<20), http.StatusBadRequest, "more than 1 MiB"},
		{"taken.txtar", good, http.StatusInternalServerError, "storing what was handed in"},
	} {
		code, body := s.answer(handingIn(t, c.file, c.text))
		assert.Equal(t, c.code, code, "%s: %s", c.file, body)
		assert.Contains(t, words(body), c.problem, c.file)
		assert.NotContains(t, body, "`", c.file)
		assert.Equal(t, before, filesIn(t, dir), c.file)
	}
	code, body := s.answer(httptest.NewRequest(http.MethodPost, "/hand-in?token=abc", nil))
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, words(body), "there is no file")

	large := handingIn(t, "ada.txtar", good+strings.Repeat("x", 9<<20))
	sent := large.Body
	_, body = s.answer(large)
	assert.Contains(t, words(body), "more than 1 MiB")
	unread, err := io.Copy(io.Discard, sent)
	require.NoError(t, err)
	assert.Greater(t, unread, int64(7<<20), "it need not all be read")

	for _, origin := range []string{"http://elsewhere.example", "null"} {
		r := handingIn(t, "ada.txtar", good)
		r.Header.Set("Origin", origin)
		code, _ := s.answer(r)
		assert.Equal(t, http.StatusForbidden, code, "another site's page must not hand in: %s", origin)
	}
	assert.Equal(t, before, filesIn(t, dir))

	code, body = s.answer(handingIn(t, "../../ada.txtar", good))
	assert.Equal(t, http.StatusOK, code, body)
	assert.Equal(t, good, filesIn(t, dir)["ada.txtar"], "a path is no part of a name")
}

// With no-referrer, browsers send "Origin: null" with a form, which is refused as another site's.
func TestABrowserMaySayWhereTheFormComesFrom(t *testing.T) {
	t.Parallel()
	s, _ := serverOf(t)
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/hand-in?token=abc", nil))
	assert.Equal(t, "same-origin", w.Header().Get("Referrer-Policy"))
}

func TestTheAddressThatIsEasyToTypeComesFirst(t *testing.T) {
	t.Parallel()
	var addrs, got []netip.Addr
	for _, a := range []string{"127.0.0.1", "::1", "fe80::1", "2001:db8::7", "192.168.1.5", "169.254.3.4"} {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	got = forPeople(append(addrs, addrs[0]))
	assert.Equal(t, []netip.Addr{addrs[4], addrs[3], addrs[0]}, got)
	_, here := hosts(&net.TCPAddr{IP: net.IPv6unspecified, Port: 8080})
	assert.Equal(t, []string{"127.0.0.1:8080"}, here)
	room, here := hosts(&net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 8080})
	assert.Equal(t, []string{"192.168.1.5:8080"}, room)
	assert.Empty(t, here)
}

// The teacher starts it once, and takes the network away with Ctrl-C.
func TestAServedClassIsJudgedAndEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	dir := aClass(t, map[string]string{"ada/01-sum/sum.go": stub})
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	judged, isJudged := context.WithCancel(t.Context())
	out := &stopping{text: "Ctrl-C ends it.", stop: isJudged}
	ended := make(chan error, 1)
	go func() { ended <- r.serveClass(ctx, listener, root, ClassOptions{}, out, io.Discard) }()
	<-judged.Done()
	assert.Contains(t, out.String(), "learner  solved\nada      0\n", "the teacher reads it here, too")
	assert.Contains(t, out.String(), "until Ctrl-C.\nOn this machine:\n  http://127.0.0.1:")
	address := regexp.MustCompile(`http://\S+`).FindString(out.String())
	answer, err := http.Get(address)
	require.NoError(t, err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.Contains(t, words(string(page)), "ada 0")
	assert.Contains(t, words(string(page)), "Exercises that nobody has begun: 1.")
	stop()
	require.NoError(t, <-ended)
	_, err = http.Get(address)
	require.Error(t, err, "it still listens")

	require.ErrorContains(t, r.ServeClass(t.Context(), dir+"/none", ClassOptions{}, out, io.Discard),
		"looking for learners")
}

// A server that has ended by itself must not look as if it were still there.
func TestAServerThatFailsEndsTheClass(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	err = r.serveClass(t.Context(), listener, root, ClassOptions{}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "serving the class")
}
