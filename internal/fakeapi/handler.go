package fakeapi

import (
	"context"
	"io"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServeHTTP answers one request: it reads the path, applies the injected faults, negotiates an
// encoding and calls the verb.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
		return
	}
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()

	r := Parse(hr)
	if !s.options.NoLog {
		s.log.add(r)
	}
	plan := s.faults.plan(r)
	if !plan.before(hr.Context(), s.done) || plan.refuse {
		hangUp()
	}
	if plan.hang {
		// While a body is unread, the HTTP server does not notice that the
		// client has gone.
		_, _ = io.Copy(io.Discard, hr.Body)
		select {
		case <-hr.Context().Done():
		case <-s.done:
		}
		hangUp()
	}
	if plan.status != nil {
		answer{w: w, format: s.errorFormat(hr)}.error(&apierrors.StatusError{ErrStatus: named(plan.status, r)})
		return
	}
	if plan.loseResponse {
		// The request is carried out, but the client never learns of it.
		s.serve(discard{http.Header{}}, hr, r, plan)
		hangUp()
	}
	s.serve(w, hr, r, plan)
}

// hangUp closes the connection without an answer. The HTTP server turns this
// panic value, and only this, into exactly that.
func hangUp() { panic(http.ErrAbortHandler) }

func (s *Server) errorFormat(hr *http.Request) format {
	if f, err := negotiate(hr.Header.Get("Accept"), true, false); err == nil {
		return f
	}
	return jsonFormat
}

func (s *Server) serve(w http.ResponseWriter, hr *http.Request, r Request, plan faultPlan) {
	if s.serveMeta(w, r) {
		return
	}
	s.mu.Lock()
	res := s.resources[r.gvr()]
	s.mu.Unlock()
	if res == nil {
		s.notFound(w, hr, r)
		return
	}
	f, err := negotiate(hr.Header.Get("Accept"), res.typed, r.Verb == "watch")
	if err != nil {
		answer{w: w, format: s.errorFormat(hr)}.error(err)
		return
	}
	f.hidesManagers = s.options.HideManagedFields
	a := answer{w: w, format: f}
	warn(w, res.warning)
	if err := s.route(hr.Context(), a, res, r, hr, plan); err != nil {
		a.error(err)
	}
}

// notFound is the answer to a path that nothing is served under. Only for the
// built-in groups does the real server send a Status.
func (s *Server) notFound(w http.ResponseWriter, hr *http.Request, r Request) {
	for _, res := range s.sortedResources() {
		if res.typed && res.Group == r.Group && r.Resource != "" {
			answer{w: w, format: s.errorFormat(hr)}.error(noSuchResource())
			return
		}
	}
	pageNotFound(w)
}

func pageNotFound(w http.ResponseWriter) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func noSuchResource() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{}, Message: "the server could not find the requested resource",
	}}
}

func noSuchMethod() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Details: &metav1.StatusDetails{}, Message: "the server does not allow this method on the requested resource",
	}}
}

// route calls the verb.
func (s *Server) route(ctx context.Context, a answer, res *resource, r Request, hr *http.Request, plan faultPlan) error {
	if r.Subresource != "" {
		return s.routeSubresource(ctx, a, res, r, hr, plan)
	}
	// All namespaces can be read at once, but a new object needs one of its own, and a deletion is of one.
	ofOne := r.Verb == "create" || r.Verb == "deletecollection"
	if ofOne && !res.ClusterScoped && r.Namespace == "" {
		if res.typed {
			return noSuchMethod()
		}
		pageNotFound(a.w)
		return nil
	}
	everywhere := r.Name == "" && r.Verb != "create"
	if res.ClusterScoped && r.Namespace != "" || !res.ClusterScoped && r.Namespace == "" && !everywhere {
		return noSuchResource()
	}
	switch r.Verb {
	case "get":
		s.get(ctx, a, res, r, plan.stale)
	case "list":
		s.list(ctx, a, res, r, plan)
	case "watch":
		if plan.noVersions {
			return noSuchMethod()
		}
		s.watch(ctx, a.w, a.format, res, r, plan.watch)
	case "create":
		if r.Name != "" {
			return noSuchMethod()
		}
		return s.serveCreate(a, res, r, hr)
	case "update":
		if r.Name == "" {
			return noSuchMethod()
		}
		return s.serveUpdate(a, res, r, hr)
	case "patch":
		if r.Name == "" {
			return noSuchMethod()
		}
		return s.servePatch(a, res, r, hr)
	case "delete":
		return s.serveDelete(a, res, r, hr)
	case "deletecollection":
		if res.noDeleteCollection {
			return noSuchMethod()
		}
		return s.serveDeleteCollection(a, res, r, hr)
	default:
		return noSuchMethod()
	}
	return nil
}

func (s *Server) routeSubresource(ctx context.Context, a answer, res *resource, r Request, hr *http.Request, plan faultPlan) error {
	at := slices.IndexFunc(res.subresources(), func(sub subresource) bool { return sub.name == r.Subresource })
	if at < 0 && !res.typed {
		return apierrors.NewNotFound(res.gr(), r.Name)
	}
	if at < 0 {
		return noSuchResource()
	}
	if !slices.Contains(res.subresources()[at].verbs, r.Verb) {
		return noSuchMethod()
	}
	switch {
	case r.Subresource == "scale":
		return s.serveScale(a, res, r, hr)
	case r.Subresource == "binding":
		return s.serveBinding(a, res, r, hr)
	case r.Subresource == "token":
		return s.serveToken(a, res, r, hr)
	case r.Subresource == "eviction":
		return s.serveEviction(a, res, r, hr)
	case r.Verb == "get":
		s.get(ctx, a, res, r, plan.stale)
	case r.Verb == "patch":
		return s.servePatch(a, res, r, hr)
	default:
		return s.serveUpdate(a, res, r, hr)
	}
	return nil
}

// discard is the writer of a response that gets lost.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
