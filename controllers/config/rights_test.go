package config_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// right is a verb on a resource or subresource of a group.
type right struct{ group, resource, verb string }

func (r right) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s", r.group, r.resource, r.verb))
}

type rights map[right]bool

// rightsOf returns the single rights of the rules.
func rightsOf(rules []rbacv1.PolicyRule) rights {
	all := rights{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all[right{group, resource, verb}] = true
				}
			}
		}
	}
	return all
}

// without returns those that others does not have, sorted.
func (all rights) without(others rights) (rest []string) {
	for r := range all {
		if !others[r] {
			rest = append(rest, r.String())
		}
	}
	slices.Sort(rest)
	return rest
}

// asked returns the right that a request needs, and its namespace; "" is all of them. ok is false
// for a request that needs no right: for no resource, such as discovery, or about the user itself.
func asked(request *http.Request) (r right, namespace string, ok bool) {
	path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case len(path) > 2 && path[0] == "api":
		path = path[2:]
	case len(path) > 3 && path[0] == "apis":
		r.group, path = path[1], path[3:]
	default:
		return r, "", false
	}
	if path[0] == "namespaces" && len(path) > 2 {
		namespace, path = path[1], path[2:]
	}
	r.resource = path[0]
	if len(path) > 2 {
		r.resource += "/" + path[2]
	}
	query := request.URL.Query()
	switch request.Method {
	case http.MethodGet:
		r.verb = "get"
		if watches := query.Get("watch"); watches == "true" || watches == "1" {
			r.verb = "watch"
		} else if len(path) == 1 {
			r.verb = "list"
		}
	case http.MethodPost:
		r.verb = "create"
	case http.MethodPut:
		r.verb = "update"
	default:
		r.verb = strings.ToLower(request.Method)
	}
	return r, namespace, r.group != "authorization.k8s.io"
}

// record records the rights that a client uses. It also provokes rare requests: it loses a few
// answers, so that the client has to ask what became of its requests, and refuses once to stream
// each list.
type record struct {
	own string // the program's namespace

	mu        sync.Mutex // guards what follows
	lose      rights     // lose the answer to the next request for each
	streams   rights     // those for which it has refused to stream a list
	elsewhere rights     // in all namespaces, or in others than its own
	atHome    rights     // in its own
	refused   []string
}

func (l *record) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		r, namespace, ok := asked(request)
		if r.verb == "watch" && request.URL.Query().Get("sendInitialEvents") == "true" &&
			l.isFirst(r) {
			return noStream(request), nil
		}
		response, err := next.RoundTrip(request)
		if !ok || err != nil {
			return response, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if namespace == l.own {
			l.atHome[r] = true
		} else {
			l.elsewhere[r] = true
		}
		if response.StatusCode == http.StatusForbidden {
			l.refused = append(l.refused, r.String()+" in "+namespace)
		}
		if namespace != l.own && l.lose[r] {
			delete(l.lose, r)
			_ = response.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return response, nil
	})
}

func (l *record) isFirst(r right) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.streams[r]
	l.streams[r] = true
	return !before
}

// noStream is the answer of an API server that cannot stream a list. Then informers list.
func noStream(request *http.Request) *http.Response {
	const body = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422, "message": "sendInitialEvents is forbidden"}`
	return fakeapi.Answer(request, http.StatusUnprocessableEntity, "application/json", body)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// compare returns how the record differs from what is granted; nil if it does not.
func (l *record) compare(everywhere, atHome rights) (differences []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, refused := range l.refused {
		differences = append(differences, "refused: "+refused)
	}
	for _, r := range everywhere.without(l.elsewhere) {
		differences = append(differences, "in the ClusterRole, and not used: "+r)
	}
	for _, r := range atHome.without(l.atHome) {
		differences = append(differences, "in the Role, and not used: "+r)
	}
	return differences
}

// settle waits until the record does not differ from what is granted, because events are written a
// little later.
func (l *record) settle(t *testing.T, everywhere, atHome rights) {
	t.Helper()
	var differences []string
	for range 300 {
		if differences = l.compare(everywhere, atHome); len(differences) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error(strings.Join(differences, "\n"))
}
