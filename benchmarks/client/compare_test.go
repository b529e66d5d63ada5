package client

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/benchmarks/client/calls"
	"github.com/loopwright/loopwright/benchmarks/client/ourcalls"
	"github.com/loopwright/loopwright/benchmarks/client/wire"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// limit is how long one call may take, with a server that is very busy.
const limit = 2 * time.Minute

// player is one of the two clients, with its recorder and its namespace.
type player struct {
	calls     []wire.Call
	recorder  *wire.Recorder
	namespace string
}

type maker func(config *rest.Config, http, nobody *http.Client) ([]wire.Call, error)

func newPlayer(t *testing.T, config *rest.Config, namespace string, make maker) *player {
	t.Helper()
	p := &player{recorder: &wire.Recorder{}, namespace: namespace}
	recorded, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	p.recorder.Next = recorded.Transport
	mayNothing := rest.CopyConfig(config)
	mayNothing.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	nobody, err := rest.HTTPClientFor(mayNothing)
	require.NoError(t, err)
	p.calls, err = make(config, &http.Client{Transport: p.recorder}, &http.Client{Transport: p.recorder.Through(nobody.Transport)})
	require.NoError(t, err)
	return p
}

// run makes the names of namespaces different when the tests are run more than once.
var run int

// compareOn runs all calls with both clients, and returns what they did. A namespace is used when it is
// ready.
func compareOn(t *testing.T, config *rest.Config, expected map[string]string, ready func(prepare client.Client, namespace string) error) []row {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	prepare, err := client.New(config, client.Options{Scheme: wire.Scheme})
	require.NoError(t, err)
	run++
	both := []*player{ // with names of one length
		newPlayer(t, config, fmt.Sprintf("compare-a-%d", run), calls.Make),
		newPlayer(t, config, fmt.Sprintf("compare-b-%d", run), ourcalls.Make),
	}
	for _, p := range both {
		require.NoError(t, prepare.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}))
		require.NoError(t, wire.Eventually(t.Context(), func() error { return ready(prepare, p.namespace) }))
	}
	require.Equal(t, len(both[0].calls), len(both[1].calls))
	var rows []row
	used := map[string]bool{}
	for i, call := range both[0].calls {
		name := call.Group + ": " + call.Name
		t.Run(name, func(t *testing.T) {
			var did [2]wire.Did
			for n, p := range both {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				take := wire.NewTake(ctx, prepare, p.namespace, fmt.Sprintf("call-%03d", i))
				var err error
				did[n], err = wire.Record(p.calls[i], take, p.recorder)
				require.NoError(t, err)
			}
			theirs, ours := did[0].Text(), did[1].Text()
			if why, ok := expected[name]; ok {
				used[name] = true
				assert.NotEqual(t, theirs, ours, "there is no difference any more: %s", why)
				rows = append(rows, row{call, did[0], did[1], why})
				return
			}
			assert.Equal(t, theirs, ours, "errors: %q and %q", did[0].Message, did[1].Message)
			rows = append(rows, row{call, did[0], did[1], ""})
		})
	}
	for name := range expected {
		assert.True(t, used[name], "no call has the name %q", name)
	}
	return rows
}

type row struct {
	call wire.Call
	did  wire.Did // by controller-runtime
	ours wire.Did
	why  string // it differs
}

// TestTheClientsDoTheSameOnARealServer holds what somebody relies on who replaces the import path:
// requests, objects and types of errors stay the same.
func TestTheClientsDoTheSameOnARealServer(t *testing.T) {
	config := clustertest.Config(t)
	prepare, err := client.New(config, client.Options{Scheme: wire.Scheme})
	require.NoError(t, err)
	require.NoError(t, client.IgnoreAlreadyExists(prepare.Create(t.Context(), wire.Definition())))
	require.NoError(t, wire.Eventually(t.Context(), func() error {
		return client.IgnoreNotFound(prepare.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "none"}, &wire.Widget{}))
	}))
	rows := compareOn(t, config, differences, func(prepare client.Client, namespace string) error {
		return prepare.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{}) // pods need it
	})
	covers(t, rows)
	if t.Failed() {
		return
	}
	report := filepath.Join("..", "..", "docs", "generated", "client-calls.md")
	text := writeReport(rows)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(report, []byte(text), 0o644))
	}
	old, err := os.ReadFile(report)
	require.NoError(t, err)
	assert.Equal(t, string(old), text, "UPDATE=1 go test ./client writes it")
}

// covers holds that the table is what it says: all methods, media types, subresources and kinds of
// failure have been on the wire.
func covers(t *testing.T, rows []row) {
	t.Helper()
	require.GreaterOrEqual(t, len(rows), 120)
	seen := map[string]bool{}
	for _, r := range rows {
		outcome, _, _ := strings.Cut(r.did.Outcome, ":")
		seen[outcome] = true
		for _, request := range r.did.Requests {
			method, address, _ := strings.Cut(request.Line, " ")
			seen[method] = true
			address, _, _ = strings.Cut(address, "?")
			seen[address[strings.LastIndex(address, "/")+1:]] = true
			for _, header := range request.Headers {
				seen[header] = true
			}
		}
	}
	for _, want := range []string{
		"GET", "POST", "PUT", "PATCH", "DELETE",
		"status", "scale", "eviction", "token", "binding", "ephemeralcontainers",
		"Content-Type: application/json", "Content-Type: application/vnd.kubernetes.protobuf",
		"Content-Type: application/merge-patch+json", "Content-Type: application/strategic-merge-patch+json",
		"Content-Type: application/json-patch+json", "Content-Type: application/apply-patch+yaml",
		"ok", "400 BadRequest", "403 Forbidden", "404 NotFound", "405 MethodNotAllowed", "409 AlreadyExists", "409 Conflict",
		"415 UnsupportedMediaType", "422 Invalid", "429 TooManyRequests",
		"no match for the kind", "a type that is not registered", "an object without a kind", "cancelled", "too late", "an error of the client",
	} {
		assert.True(t, seen[want], "no call has shown %q", want)
	}
}

// TestTheClientsDoTheSameOnTheInMemoryServer does so without a cluster. What it does not serve is
// the same error for both.
func TestTheClientsDoTheSameOnTheInMemoryServer(t *testing.T) {
	server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{{
		Group: wire.Widgets.Group, Version: wire.Widgets.Version, Kind: "Widget", Status: true,
		Scale: &fakeapi.Scale{SpecReplicas: ".spec.replicas", StatusReplicas: ".status.replicas"},
	}}})
	defer server.Close()
	compareOn(t, server.Config(), differences, func(client.Client, string) error { return nil })
}
