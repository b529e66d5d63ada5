package course

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// ServeClass is `course class DIR --serve`: WatchClass, and a page in the room's network, for the
// projector. It has a bar for each exercise, and a table of the learners, who hand in there, too.
//
// Guarantees: the page is only for those who have the address with its token. It shows the names of
// files and the verdicts; what does not hold is only written to w. Nothing is stored but what
// learners hand in, and that only as NAME.txtar in the directory. When ServeClass returns, nothing
// listens any more.
//
// Caveats: it is HTTP without encryption. One learner can hand in under the name of another. What
// is handed in runs with the rights of the caller, as with Class.
//
// Errors: a directory that cannot be read, a port that is taken, a server that fails. What goes
// wrong while judging is shown, and may be over the next time.
func (r *Repo) ServeClass(
	ctx context.Context, dir string, o ClassOptions, w, status io.Writer,
) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return noClass(dir, err)
	}
	defer root.Close()
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(o.Port))
	if err != nil {
		return fmt.Errorf("serving the class: %w", err)
	}
	return r.serveClass(ctx, listener, root, o, w, status)
}

// serveClass closes the listener.
func (r *Repo) serveClass(
	ctx context.Context, listener net.Listener, dir *os.Root, o ClassOptions, w, status io.Writer,
) error {
	room, here := hosts(listener.Addr())
	s := &classServer{token: newToken(), room: room, dir: dir}
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
	}
	list := func(title string, hosts []string) {
		if len(hosts) > 0 {
			fmt.Fprintln(w, title)
		}
		for _, host := range hosts {
			fmt.Fprintf(w, "  http://%s/?token=%s\n", host, s.token)
		}
	}
	fmt.Fprintln(w, "The class is here until Ctrl-C.")
	list("People in the room need one of these addresses:", room)
	list("On this machine:", here)
	fmt.Fprintln(w)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1) // Serve's error; sent once, perhaps before we wait for it
	go func() {
		served <- server.Serve(listener)
		cancel()
	}()
	watching := watchClass(ctx, dir.Name(), w, func() (*class, error) {
		s.begin()
		c, err := r.judgeClass(ctx, dir.Name(), o, status)
		s.show(c, err, time.Now())
		return c, err
	})
	patience, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if server.Shutdown(patience) != nil { // a browser that does not end its request
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the class: %w", err)
	}
	return watching
}

// newToken can be typed from the board, and has 50 random bits.
func newToken() string { return strings.ToLower(rand.Text()[:10]) }

// hosts are the addresses at which the room reaches a listener, and those for this machine only.
func hosts(at net.Addr) (room, here []string) {
	listening := netip.MustParseAddrPort(at.String())
	addrs := []netip.Addr{listening.Addr()}
	if listening.Addr().IsUnspecified() {
		addrs[0] = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		found, _ := net.InterfaceAddrs() // without them there is still this machine
		for _, a := range found {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				addrs = append(addrs, prefix.Addr())
			}
		}
	}
	for _, addr := range forPeople(addrs) {
		host := netip.AddrPortFrom(addr, listening.Port()).String()
		if addr.IsLoopback() {
			here = append(here, host)
		} else {
			room = append(room, host)
		}
	}
	return room, here
}

// forPeople leaves out the addresses that a browser cannot use, and sorts the others: those that
// are easy to type come first, and this machine's own last.
func forPeople(addrs []netip.Addr) []netip.Addr {
	rank := func(a netip.Addr) int {
		switch {
		case a.IsLoopback():
			return 2
		case a.Is6():
			return 1
		}
		return 0
	}
	addrs = slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool {
		return a.IsLinkLocalUnicast() || a.IsLoopback() && a.Is6()
	})
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return cmp.Compare(rank(a), rank(b)) })
	return slices.Compact(addrs)
}

// classServer serves the page of a class, and stores what learners hand in.
type classServer struct {
	token string
	room  []string // the addresses that others can use
	dir   *os.Root // where what is handed in goes

	mu    sync.Mutex // guards shown
	shown board
}

// board is what the page shows.
type board struct {
	Judging   bool
	Judged    string // when; empty before the first time
	Problem   string // why the last time ended without verdicts
	Address   string // for others to type, without the token
	Nobody    bool   // has handed in yet
	Bars      []bar
	Header    []string
	Rows      [][]string
	LeftOut   []string
	Untouched int // exercises that nobody has begun
}

// bar is how far the class is with one exercise.
type bar struct {
	Title            string
	All              int // learners
	Solved, OnTheWay int
	Segments         []segment
}

// segment is how many learners have the same verdict.
type segment struct {
	State string
	Kind  string // the class of its colour in the page
	Count int
}

func (s *classServer) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Judging = true
}

// show keeps what was shown before if judging has failed.
func (s *classServer) show(c *class, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none noLearners
	switch {
	case errors.As(err, &none):
		s.shown = board{Nobody: true, LeftOut: none.leftOut}
	case err != nil:
		s.shown.Judging, s.shown.Problem = false, err.Error()
		return
	default:
		s.shown = newBoard(c)
	}
	s.shown.Judged = now.Format("15:04")
}

func newBoard(c *class) board {
	shown := c.begun()
	t := c.table(shown)
	b := board{
		Header: t.header, Rows: t.rows, LeftOut: c.leftOut, Untouched: len(c.exercises) - len(shown),
	}
	for _, e := range shown {
		b.Bars = append(b.Bars, newBar(c, e))
	}
	return b
}

// newBar has the best first.
func newBar(c *class, e Exercise) bar {
	count := map[string]int{}
	for _, v := range c.verdicts[e.Name] {
		count[v.state]++
	}
	b := bar{Title: e.ID() + ": " + e.Mine(), All: len(c.homes), Solved: count[solved]}
	for _, state := range e.states() {
		if n := count[state]; n > 0 {
			b.Segments = append(b.Segments, segment{state, kind(state), n})
			if kind(state) == onTheWay {
				b.OnTheWay += n
			}
		}
	}
	return b
}

// states are all that a verdict can say, the best first.
func (e Exercise) states() []string {
	all := []string{solved}
	for steps := len(e.Tests) - 1; steps >= 0; steps-- {
		all = append(all, e.upTo(steps))
	}
	return append(all, notYet, string(gotest.NoCompile), filledIn, notBegun)
}

// onTheWay is the kind of all states that have no colour of their own.
const onTheWay = "on-the-way"

func kind(state string) string {
	switch state {
	case solved, filledIn, notBegun:
		return strings.ReplaceAll(state, " ", "-")
	}
	return onTheWay
}

//go:embed class_serve.html
var classPages string

var classPage = template.Must(
	template.New("").Funcs(template.FuncMap{"code": code}).Parse(classPages))

var backticks = regexp.MustCompile("`([^`]*)`")

// code shows as code what a message for the terminal has between backticks.
func code(text string) template.HTML {
	return template.HTML(
		backticks.ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>"))
}

// handler answers those who have the token.
func (s *classServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		b := s.shown // its slices never change
		s.mu.Unlock()
		b.Address = s.address(r.Host)
		s.write(w, http.StatusOK, "board", b)
	})
	mux.HandleFunc("GET /hand-in", func(w http.ResponseWriter, _ *http.Request) {
		s.write(w, http.StatusOK, "hand-in", handedIn{})
	})
	mux.HandleFunc("POST /hand-in", s.handIn)
	sameOrigin := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; "+
			"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		// With no-referrer, browsers would not say where a form comes from, and it would be refused.
		header.Set("Referrer-Policy", "same-origin")
		header.Set("X-Content-Type-Options", "nosniff")
		token := r.URL.Query().Get("token")
		if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
			http.Error(w, "This page is for the class. Open the whole address that your teacher "+
				"shows you, with ?token= and what follows it.", http.StatusForbidden)
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

// address is the one at which this browser has found the page: the teacher chooses. If it is this
// machine's own, nobody else can use it.
func (s *classServer) address(host string) string {
	name := (&url.URL{Host: host}).Hostname()
	addr, _ := netip.ParseAddr(name) // another name is no address
	if len(s.room) > 0 && (name == "localhost" || addr.IsLoopback()) {
		return s.room[0]
	}
	return host
}

// write fills in a page. An error means that the browser has gone away.
func (s *classServer) write(w http.ResponseWriter, code int, page string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = classPage.ExecuteTemplate(w, page, struct {
		Token string
		Data  any
	}{s.token, data})
}

// handedIn is what a learner is told: the name of the file, or what was wrong with it.
type handedIn struct{ File, Problem string }

func (s *classServer) handIn(w http.ResponseWriter, r *http.Request) {
	name, text, err := readSubmitted(w, r)
	if err != nil {
		s.write(w, http.StatusBadRequest, "hand-in", handedIn{Problem: err.Error()})
		return
	}
	if err := s.store(name, text); err != nil {
		s.write(w, http.StatusInternalServerError, "hand-in", handedIn{Problem: err.Error()})
		return
	}
	s.write(w, http.StatusOK, "hand-in", handedIn{File: name})
}

const chooseIt = ": choose the file that `make submit` has written"

var errTooLarge = errors.New("the file has more than 1 MiB" + chooseIt)

// readSubmitted returns a file that `make submit` can have written, and a name for it that is safe.
func readSubmitted(w http.ResponseWriter, r *http.Request) (name string, text []byte, err error) {
	const form = 4 << 10 // what the form adds to the file
	r.Body = http.MaxBytesReader(w, r.Body, largestFile+form)
	file, header, err := r.FormFile("solutions") // in memory, because it is small
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return "", nil, errTooLarge
	}
	if err != nil {
		return "", nil, errors.New("there is no file" + chooseIt)
	}
	defer file.Close()
	if header.Size > largestFile {
		return "", nil, errTooLarge
	}
	name, isSubmitted := strings.CutSuffix(header.Filename, submitted)
	if !isSubmitted {
		return "", nil, fmt.Errorf("%q does not end with %s%s", header.Filename, submitted, chooseIt)
	}
	if name, err = fileName(name); err != nil {
		return "", nil, err
	}
	if text, err = io.ReadAll(file); err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", header.Filename, err)
	}
	archive := txtar.Parse(text)
	if _, err := txtar.FS(archive); err != nil || len(archive.Files) == 0 {
		return "", nil, errors.New("there are no solutions in it" + chooseIt)
	}
	return name + submitted, text, nil
}

// store writes a file at once, so that half of it is never judged.
func (s *classServer) store(name string, text []byte) error {
	half := "." + rand.Text() // not a learner: it begins with a dot
	err := s.dir.WriteFile(half, text, 0o644)
	if err == nil {
		err = s.dir.Rename(half, name)
	}
	if err != nil {
		_ = s.dir.Remove(half)
		return fmt.Errorf("storing what was handed in: %w", err)
	}
	return nil
}
