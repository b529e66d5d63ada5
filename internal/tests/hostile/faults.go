package hostile

import (
	"net/http"
	"slices"
)

// Fault is something that answers in the API server's place, or spoils its answer.
type Fault struct {
	Name string
	// Shows are texts of which one has to be in an error, a log line or a health report while
	// the fault lasts, so that its user knows what has answered. None, if nothing shows.
	Shows []string
	// serve answers in the server's place. It's nil for faults that spoil the server's answer,
	// which are always carried out.
	serve func(w http.ResponseWriter, r *http.Request, n *Network, a *attack)
	// spoil sends an answer of the server, spoilt. For a watch, it gets the first event.
	spoil func(was *answer, to http.ResponseWriter)
	// open says what happens to open watches.
	open    openWatch
	refuses bool // see Refuses
}

// openWatch is what an attack does to watches that are open.
type openWatch int

const (
	openCut    openWatch = iota // they end, and come back
	openSilent                  // they get nothing any more, not even an end
	openLate                    // they get what happens when the attack is over
)

// Spoils reports whether the fault needs the server's answer, so that the server always carries the
// request out.
func (f Fault) Spoils() bool { return f.spoil != nil }

// Refuses reports whether the fault answers as an API server does that hasn't carried a request out. A
// client that's told so by a Status can't know better.
func (f Fault) Refuses() bool { return f.refuses }

// IsStale reports whether the fault answers with an old state, which no client can recognize.
func (f Fault) IsStale() bool { return f.open == openLate }

// Find returns the fault with a name.
func Find(name string) Fault {
	at := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == name })
	return Faults[at]
}

// Faults are all faults, but for a server that was restored from a backup: that's the server's own.
var Faults = []Fault{
	instead("text404", page(404, text, "404 page not found\n"), "404", "could not find"),
	instead("html404", page(404, html, nginx("404 Not Found")), "404", "could not find"),
	instead("login200", loginPage, "text/html", "<html>", "200"),
	instead("redirect302", toLogin, "text/html", "<html>", "302", "200"),
	refusing(instead("unauthorized401", status(401, "Unauthorized", "Unauthorized"),
		"401", "Unauthorized", "provide credentials")),
	refusing(instead("forbidden403", status(403, "Forbidden", "forbidden: the account is locked"),
		"403", "forbidden", "may not")),
	instead("html403", page(403, html, nginx("403 Forbidden")), "403", "forbidden", "may not"),
	instead("busy429", busy, "429", "too many requests", "rate limited"),
	instead("html502", page(502, html, nginx("502 Bad Gateway")), "502", "Bad Gateway"),
	instead("text503", page(503, text, "no healthy upstream"), "503", "no healthy upstream",
		"unable to handle"),
	instead("html504", page(504, html, nginx("504 Gateway Time-out")), "504", "Gateway Time-out",
		"in the time allotted"),
	instead("notjson", page(200, json, "<html>all is well</html>"), "invalid character",
		"couldn't get version/kind", "<html>"),
	instead("braces", page(200, json, "{}"), "'Kind' is missing", "without a kind", "{}", "is empty",
		"unknown type", "invalid watch event", "isn't the Lease", `holder ""`),
	instead("empty200", page(200, json, ""), append(endedSoon, "is empty", "EOF", "unexpected end",
		"0-length", "isn't the Lease", "not an API server's", "is nobody's")...),
	spoiling("cutheader", cutHeader, "EOF", "hung up"),
	spoiling("cutlength", cutLength, "EOF", "hung up"),
	spoiling("cutchunked", cutChunked, "EOF", "hung up"),
	spoiling("cuthalf", cutHalf, "EOF", "unexpected end", "is nobody's",
		"not an API server's"),
	spoiling("cutlast", cutLast, "EOF", "unexpected end", "is nobody's",
		"not an API server's"),
	spoiling("typehtml", retype("text/html; charset=utf-8"), "text/html"),
	spoiling("typeoctets", retype("application/octet-stream"), "application/octet-stream"),
	{Name: "hangup", serve: hangsUp},                  // nothing answers
	{Name: "silent", serve: silent, open: openSilent}, // nothing answers
	{Name: "stale", serve: stale, open: openLate},
}

const (
	text = "text/plain; charset=utf-8"
	html = "text/html"
	json = "application/json"

	loginPath = "/login"
)

var (
	loginPage = page(200, html,
		"<!doctype html><html><body><form><input name=\"password\"></form></body></html>")
	toLogin = &answer{302, http.Header{"Location": {loginPath}, "Content-Type": {html}}, nil}
	busy    = &answer{429, http.Header{"Retry-After": {"1"}, "Content-Type": {text}},
		[]byte("too many requests\n")}
	expired = status(410, "Expired", "too old resource version")
)

// nginx is the page that nginx sends by default.
func nginx(title string) string {
	return "<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title +
		"</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
}

// status is an answer of the API server itself.
func status(code int, reason, message string) *answer {
	number := map[int]string{401: "401", 403: "403", 410: "410"}[code]
	return page(code, json, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"`+message+`","reason":"`+reason+`","code":`+number+`}`)
}

func instead(name string, what *answer, shows ...string) Fault {
	return Fault{Name: name, Shows: shows, serve: func(
		w http.ResponseWriter, _ *http.Request, _ *Network, _ *attack,
	) {
		what.send(w)
	}}
}

func refusing(f Fault) Fault {
	f.refuses = true
	return f
}

// spoiling is a fault that spoils the server's answer. A watch that it cuts has ended too soon.
func spoiling(name string, how func(was *answer, to http.ResponseWriter), shows ...string) Fault {
	return Fault{Name: name, Shows: append(append(shows, endedSoon...), "is not known"), spoil: how}
}

// endedSoon is what the library's informers and mini's say of such a watch.
var endedSoon = []string{"ended at once", "soon after it began", "before the view was whole"}

// cutHeader sends the header and its promise, and nothing of the body.
func cutHeader(was *answer, to http.ResponseWriter) {
	was.begin(to, len(was.body))
	flush(to)
	hangUp()
}

// cutLength says how long the body is, and sends half of it.
func cutLength(was *answer, to http.ResponseWriter) {
	was.begin(to, len(was.body))
	_, _ = to.Write(was.half())
	flush(to)
	hangUp()
}

// cutChunked sends half of a body whose length it doesn't say, and breaks the connection.
func cutChunked(was *answer, to http.ResponseWriter) {
	was.begin(to, -1)
	_, _ = to.Write(was.half())
	flush(to)
	hangUp()
}

// cutHalf sends half of the body as if it were the whole. HTTP has nothing to complain about.
func cutHalf(was *answer, to http.ResponseWriter) {
	(&answer{was.code, was.header, was.half()}).send(to)
}

// cutLast leaves out the last character, as if the rest were the whole.
func cutLast(was *answer, to http.ResponseWriter) {
	(&answer{was.code, was.header, was.allButEnd()}).send(to)
}

// retype calls the body something that it isn't.
func retype(contentType string) func(was *answer, to http.ResponseWriter) {
	return func(was *answer, to http.ResponseWriter) {
		was.header.Set("Content-Type", contentType)
		was.send(to)
	}
}

// hangsUp breaks the connection, and says nothing.
func hangsUp(http.ResponseWriter, *http.Request, *Network, *attack) { hangUp() }

// silent says nothing, for as long as the attack lasts, and then breaks the connection.
func silent(_ http.ResponseWriter, r *http.Request, n *Network, a *attack) {
	drain(r)
	n.silence(r.Context(), a)
	hangUp()
}

// stale answers a read as of earlier. Writes reach the server: a replica passes them on.
func stale(w http.ResponseWriter, r *http.Request, n *Network, _ *attack) {
	if r.Method != http.MethodGet {
		n.server.ServeHTTP(w, r)
		return
	}
	n.replay(w, r)
}
