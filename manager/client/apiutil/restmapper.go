package apiutil

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/internal/discovery"
)

// What isn't on the server may be there in a second, so we ask again, but not without end: a
// program that retries a missing kind in a loop would ask as fast as the server answers.
const (
	askAgainEvery = time.Second
	askAgainBurst = 10
)

// answerLimit is how long the server may take for an answer. The methods have no context, so with a
// server that never answers, the caller would wait forever, and couldn't even be stopped.
const answerLimit = 30 * time.Second

// NewDynamicRESTMapper returns a mapper that asks the server about kinds that it doesn't know.
//
// The first call reads the list of groups. A server with aggregated discovery sends all resources
// with it, in two requests; from an older one, a group and version is read when you ask for it.
// Unknown kinds are looked up again, so the mapper finds a kind that has been installed since.
//
// Guarantees: a call that can be answered from memory sends no request, and waits for none.
// Concurrent callers with the same question share one request. A missing kind is looked up ten
// times in a row, and then once a second.
//
// Errors: meta.IsNoMatchError if a discovery document of the server leaves the kind out. A 404
// isn't one, and neither is a login page: if something other than the API server answers, the error
// shows the answer, and the mapper forgets nothing. If only some versions are affected, it's an
// ErrResourceDiscoveryFailed. An answer may take 30 s, or as long as the HTTP client's Timeout, if
// it has one.
//
// In controller-runtime a missing kind is looked up every time, calls for other kinds have to wait
// meanwhile, and a 404 is a missing kind.
func NewDynamicRESTMapper(cfg *rest.Config, httpClient *http.Client) (meta.RESTMapper, error) {
	if httpClient == nil {
		return nil, errNoHTTPClient
	}
	limited := *httpClient
	if limited.Timeout == 0 {
		limited.Timeout = answerLimit
	}
	client, err := discovery.New(cfg, &limited)
	if err != nil {
		return nil, err
	}
	return newMapper(client), nil
}

// server answers a mapper's questions: a *discovery.Client, which explains its answers.
type server interface {
	GroupsAndMaybeResources() (*metav1.APIGroupList,
		map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error)
	Resources(context.Context, schema.GroupVersion) (*metav1.APIResourceList, error)
}

// mapper is the shell: it asks, and keeps the newest catalog.
type mapper struct {
	server  server
	current atomic.Pointer[catalog]

	mu        sync.Mutex           // guards the writing of current, and what follows
	questions map[string]*question // at most maxQuestions, and those in progress
}

// maxQuestions bounds how many questions we remember. A program that looks up kinds whose names
// come from its users would otherwise remember every misspelling.
const maxQuestions = 500

// question is one that the catalog couldn't answer, about a group and versions of it.
type question struct {
	limiter *rate.Limiter
	asked   *exchange // with the server, at this moment; nil if there's none
	err     error     // of the last exchange
}

// exchange is a request to the server. Several callers may wait for its answer.
type exchange struct {
	done chan struct{} // closed by the caller that asks, when the answer is in the catalog
	err  error         // may be read when done is closed
}

func newMapper(server server) *mapper {
	m := &mapper{server: server, questions: map[string]*question{}}
	m.current.Store(newCatalog())
	return m
}

// ask looks something up. If it isn't in the catalog, it asks the server and looks again.
func ask[T any](
	m *mapper, group string, versions []string, lookUp func(meta.RESTMapper) (T, error),
) (T, error) {
	versions = named(versions)
	known := m.current.Load()
	answer, err := lookUp(known.mapper)
	if !meta.IsNoMatchError(err) && (len(versions) > 0 || known.isComplete(group)) {
		return answer, err
	}
	// A request that was in flight when our caller came may have been answered before a kind was
	// installed that our caller knows about. The next request is late enough.
	mine, learnErr := m.learn(group, versions)
	if answer, err = lookUp(m.current.Load().mapper); meta.IsNoMatchError(err) && !mine {
		_, learnErr = m.learn(group, versions)
		answer, err = lookUp(m.current.Load().mapper)
	}
	if meta.IsNoMatchError(err) && learnErr != nil {
		err = learnErr
	}
	return answer, err
}

// named drops the empty version, which means any.
func named(versions []string) []string {
	var out []string
	for _, version := range versions {
		if version != "" {
			out = append(out, version)
		}
	}
	return out
}

// learn asks the server, unless that has happened too often. If the same request is already in
// flight, it waits for that answer, and returns false.
func (m *mapper) learn(group string, versions []string) (mine bool, err error) {
	key := group + "/" + strings.Join(versions, ",")
	m.mu.Lock()
	q := m.questions[key]
	if q == nil {
		m.forgetLocked()
		q = &question{limiter: rate.NewLimiter(rate.Every(askAgainEvery), askAgainBurst)}
		m.questions[key] = q
	}
	if asked := q.asked; asked != nil {
		m.mu.Unlock()
		<-asked.done
		return false, asked.err
	}
	if !q.limiter.Allow() {
		defer m.mu.Unlock()
		return true, q.err
	}
	asked := &exchange{done: make(chan struct{})}
	q.asked = asked
	m.mu.Unlock()

	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		asked.err, q.err, q.asked = err, err, nil
		close(asked.done)
	}()
	return true, m.request(group, versions)
}

// forgetLocked makes room for a question. It drops those that may be asked most often, because it
// matters least for them: most haven't been asked for a while, so they lose nothing.
func (m *mapper) forgetLocked() {
	for len(m.questions) >= maxQuestions {
		least, most := "", -1.0
		for key, q := range m.questions {
			tokens := q.limiter.Tokens()
			if q.asked == nil && (tokens > most || tokens == most && key < least) {
				least, most = key, tokens
			}
		}
		if most < 0 {
			return // all are being asked
		}
		delete(m.questions, least)
	}
}

// request reads from the server what the catalog needs for an answer.
func (m *mapper) request(group string, versions []string) error {
	if len(versions) == 0 || m.current.Load().groups == nil {
		groups, resources, failed, err := m.server.GroupsAndMaybeResources()
		switch {
		case err != nil:
			return fmt.Errorf("list the groups of the API server: %w", err)
		case len(groups.Groups) == 0:
			return errors.New("list the groups of the API server: it says that it has none")
		case len(resources) > 0: // aggregated discovery: this is all there is
			m.update(func(c *catalog) *catalog {
				return c.listedWith(groups.Groups,
					answers{resources, failed})
			})
			return failure(failed, group)
		}
		m.update(func(c *catalog) *catalog { return c.listed(groups.Groups) })
	}
	if len(versions) == 0 {
		versions = m.current.Load().versionsOf(group)
	}
	read := answers{map[schema.GroupVersion]*metav1.APIResourceList{},
		map[schema.GroupVersion]error{}}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: group, Version: version}
		resources, err := m.server.Resources(context.Background(), gv)
		if err != nil {
			read.failed[gv] = err
			continue
		}
		read.resources[gv] = resources
	}
	m.update(func(c *catalog) *catalog { return c.read(read) })
	return failure(read.failed, group)
}

// failure is the error for the versions of a group that failed, or nil if none did.
func failure(failed map[schema.GroupVersion]error, group string) error {
	failures := ErrResourceDiscoveryFailed{}
	for gv, err := range failed {
		if gv.Group == group {
			failures[gv] = err
		}
	}
	if len(failures) == 0 {
		return nil
	}
	return &failures
}

func (m *mapper) update(change func(*catalog) *catalog) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current.Store(change(m.current.Load()))
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return ask(m, resource.Group, []string{resource.Version},
		func(known meta.RESTMapper) (schema.GroupVersionKind, error) {
			return known.KindFor(resource)
		})
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return ask(m, resource.Group, []string{resource.Version},
		func(known meta.RESTMapper) ([]schema.GroupVersionKind, error) {
			return known.KindsFor(resource)
		})
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(
	input schema.GroupVersionResource,
) (schema.GroupVersionResource, error) {
	return ask(m, input.Group, []string{input.Version},
		func(known meta.RESTMapper) (schema.GroupVersionResource, error) {
			return known.ResourceFor(input)
		})
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(
	input schema.GroupVersionResource,
) ([]schema.GroupVersionResource, error) {
	return ask(m, input.Group, []string{input.Version},
		func(known meta.RESTMapper) ([]schema.GroupVersionResource, error) {
			return known.ResourcesFor(input)
		})
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return ask(m, gk.Group, versions, func(known meta.RESTMapper) (*meta.RESTMapping, error) {
		return known.RESTMapping(gk, versions...)
	})
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(
	gk schema.GroupKind, versions ...string,
) ([]*meta.RESTMapping, error) {
	return ask(m, gk.Group, versions, func(known meta.RESTMapper) ([]*meta.RESTMapping, error) {
		return known.RESTMappings(gk, versions...)
	})
}

// Reset implements meta.ResettableRESTMapper: the mapper asks for everything again when it's
// needed. Call it if you know that a kind has a new resource name or scope: the answers in memory
// can't show that.
func (m *mapper) Reset() { m.update(func(*catalog) *catalog { return newCatalog() }) }

// ResourceSingularizer implements meta.RESTMapper. It only uses what is already known.
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	return m.current.Load().mapper.ResourceSingularizer(resource)
}
