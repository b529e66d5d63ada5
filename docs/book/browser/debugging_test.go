package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// example is a program of docs/debugging.md, and the API server on which it runs, as the page's
// readers run it: by its command, with a kubeconfig.
type example struct {
	name, path, kubeconfig string
	client                 client.Client // of somebody who changes things
}

func buildExample(t *testing.T, name string) *example {
	t.Helper()
	dir := t.TempDir()
	e := &example{name: name, path: filepath.Join(dir, name), kubeconfig: filepath.Join(dir, "kubeconfig")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", e.path, "./examples/"+name)
	build.Dir = "../../.."
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)

	api := fakeapi.New(fakeapi.Options{})
	t.Cleanup(api.Close)
	e.client, err = client.New(api.Config(), client.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(onlyWhatTheRoleAllows(e.client, api))
	t.Cleanup(server.Close)
	require.NoError(t, os.WriteFile(e.kubeconfig, fmt.Appendf(nil, `{"kind": "Config", "apiVersion": "v1",
		"clusters": [{"name": "it", "cluster": {"server": %q}}], "users": [{"name": "it"}],
		"contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}], "current-context": "it"}`, server.URL), 0o600))
	return e
}

// run starts the program, and shows the last X-ray that it prints. The program ends with the test.
func (e *example) run(t *testing.T, pages int, args ...string) *tab {
	t.Helper()
	program := exec.Command(e.path, args...)
	program.Env = append(os.Environ(), "KUBECONFIG="+e.kubeconfig)
	program.Stderr = t.Output()
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		require.NoError(t, program.Process.Signal(os.Interrupt))
		require.NoError(t, program.Wait(), "it ends without an error when it is interrupted")
	})
	lines, address := bufio.NewScanner(out), ""
	for range pages {
		require.True(t, lines.Scan(), "the program prints where X-ray is")
		_, address, _ = strings.Cut(lines.Text(), ": ")
	}
	browser, _ := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(screen(), openXRay(address), until(shows(".state", "live"))))
	return b
}

// trouble runs a program in both ways: X-ray says the sentence that the page quotes; and after it
// was mended, nothing.
func trouble(t *testing.T, name string, pages int, mended func(*testing.T, *example, *tab)) {
	e := buildExample(t, name)
	t.Run("broken", func(t *testing.T) {
		b := e.run(t, pages)
		require.NoError(t, b.do(until(says(quoted(t, name)))))
		require.NoError(t, keep(b, name))
		assert.Empty(t, b.wrong())
	})
	t.Run("mended", func(t *testing.T) {
		b := e.run(t, pages, "-mended")
		mended(t, e, b)
		require.NoError(t, b.do(until(shows(".troubles", "No queue, watch or worker is stuck."))))
		require.NoError(t, keep(b, name+"-mended"))
		assert.Empty(t, b.wrong())
	})
}

// says is true if a problem matches a pattern.
func says(pattern string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('.troubles li')].some(e => new RegExp(%q).test(e.textContent))`, pattern)
}

var (
	quote = regexp.MustCompile(`(?m)(^> .*\n)+`)
	// varying is what differs from run to run: numbers, times, and the name of a replica.
	varying = regexp.MustCompile(`\S+_\S+|\d[\d,.]*( (µs|ms|s|min)\b)?`)
)

// quoted is the pattern of what docs/debugging.md quotes below the command of a program.
func quoted(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "debugging.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "go run ./examples/"+name+"\n")
	require.True(t, found, "the page has the command")
	sentence := strings.Join(strings.Fields(strings.ReplaceAll(quote.FindString(section), "\n> ", "\n"))[1:], " ")
	var pattern strings.Builder
	end := 0
	for _, at := range varying.FindAllStringIndex(sentence, -1) {
		pattern.WriteString(regexp.QuoteMeta(sentence[end:at[0]]) + `\S+( (µs|ms|s|min))?`)
		end = at[1]
	}
	return pattern.String() + regexp.QuoteMeta(sentence[end:])
}

func (e *example) scale(t *testing.T, name string, replicas int32) {
	t.Helper()
	before := e.deployment(t, name)
	after := before.DeepCopy()
	after.Spec.Replicas = &replicas
	require.NoError(t, e.client.Patch(t.Context(), after, client.MergeFrom(before)))
}

func (e *example) deployment(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{}
	require.NoError(t, e.client.Get(t.Context(), client.ObjectKey{Namespace: e.name, Name: name}, deployment))
	return deployment
}

func TestXRayNamesAHotLoop(t *testing.T) {
	trouble(t, "hot-loop", 1, func(t *testing.T, e *example, b *tab) {
		require.NoError(t, b.do(until(shows(".workers", " 1 reconciled"))))
		e.scale(t, "web", 3)
		require.NoError(t, b.do(until(shows(".write", "update status Deployment hot-loop/web ok")), until(shows(".write", ", back ")),
			until(shows(".workers", " 3 reconciled")))) // the write itself asks for the third
	})
}

func TestXRayNamesAMissingPredicate(t *testing.T) {
	trouble(t, "missing-predicate", 1, func(t *testing.T, e *example, b *tab) {
		require.NoError(t, b.do(
			until(`/(\d\d\d|[3-9]\d) filtered by GenerationChangedPredicate/.test(document.querySelector('.handlers')?.textContent)`)))
		e.scale(t, "web", 3)
		require.NoError(t, b.do(until(shows(".write", "update ConfigMap missing-predicate/web ok")),
			until(shows(".workers", " 2 reconciled"))))
	})
}

func TestXRayNamesAForbiddenList(t *testing.T) {
	trouble(t, "forbidden-list", 1, func(t *testing.T, _ *example, b *tab) {
		require.NoError(t, b.do(until(shows(".write", "create Secret forbidden-list/web ok"))))
	})
}

// onlyWhatTheRoleAllows is an API server that lets a user who is impersonated list Secrets only if
// the Role passwords says so. In memory, every request is an administrator's.
func onlyWhatTheRoleAllows(c client.Client, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := r.Header.Get("Impersonate-User")
		namespace, found := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/secrets")
		if user == "" || !found || r.Method != http.MethodGet {
			api.ServeHTTP(w, r)
			return
		}
		verb := "list"
		if r.URL.Query().Has("watch") {
			verb = "watch"
		}
		role := &rbacv1.Role{}
		err := c.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: "passwords"}, role)
		if err == nil && slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.Resources, "secrets") && slices.Contains(rule.Verbs, verb)
		}) {
			api.ServeHTTP(w, r)
			return
		}
		status := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", fmt.Errorf(
			`User %q cannot %s resource "secrets" in API group "" in the namespace %q`, user, verb, namespace)).Status()
		status.Kind, status.APIVersion = "Status", "v1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(status)
	})
}

func TestXRayNamesAStuckFinalizer(t *testing.T) {
	trouble(t, "stuck-finalizer", 1, func(t *testing.T, _ *example, b *tab) {
		require.NoError(t, b.do(until(shows(".write", "update ConfigMap stuck-finalizer/web ok")), until(shows(".write", ", back ")),
			until(shows(`[data-kind="ConfigMap"] .cache`, "0 objects"))))
	})
}

// A deletion may take its time: as long as a controller is going to reconcile the object, or a new
// list has not shown that it is still there, X-ray does not call it stuck.
func TestADeletionThatGoesOnIsNotStuck(t *testing.T) {
	browser, _ := start(t)
	change := func(kind trace.Kind, op, name, finalizer string) trace.Event {
		return trace.Event{Kind: kind, Layer: "listwatch", Object: "Order", Namespace: "default", Name: name, Op: op, Reason: finalizer}
	}
	deleted := change(trace.WatchEvent, "MODIFIED", "one", "shop/parcel")
	queue := func(kind trace.Kind, at, took time.Duration) trace.Event {
		return trace.Event{Kind: kind, Layer: "shop", Object: "Order", Namespace: "default", Name: "one", At: at, Took: took}
	}
	const stuck = "The finalizer shop/parcel has blocked the deletion of Order default/one for 12 s, " +
		"and no controller of this program is going to reconcile it."
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"nothing happens", nil, stuck},
		{"a reconcile has ended", []trace.Event{queue(trace.Enqueue, 0, 0), queue(trace.Dequeue, 0, 0),
			queue(trace.Done, 0, 0)}, stuck},
		{"another one is stuck, too", []trace.Event{change(trace.WatchEvent, "MODIFIED", "two", "shop/parcel")},
			"The same holds for 1 more object."},
		{"the watch reports it again", []trace.Event{{At: 11 * time.Second, Kind: trace.WatchEvent, Layer: "listwatch",
			Object: "Order", Namespace: "default", Name: "one", Op: "MODIFIED", Reason: "shop/parcel"}}, stuck},
		{"it waits in the queue", []trace.Event{queue(trace.Enqueue, 0, 0)}, "No queue, watch or worker is stuck."},
		{"it has an alarm", []trace.Event{queue(trace.Delay, 0, time.Minute)}, "No queue, watch or worker is stuck."},
		{"its alarm is over", []trace.Event{queue(trace.Delay, 0, time.Second)}, stuck},
		{"it has failed, and is tried again", []trace.Event{{Kind: trace.ReconcileEnd, Outcome: trace.Failed, Layer: "shop", Object: "Order",
			Namespace: "default", Name: "one", Reason: "the parcel is on its way"}}, "No queue, watch or worker is stuck."},
		{"it is reconciled", []trace.Event{queue(trace.ReconcileStart, 11*time.Second, 0)}, "No queue, watch or worker is stuck."},
		{"it is gone", []trace.Event{change(trace.WatchEvent, "DELETED", "one", "")}, "No queue, watch or worker is stuck."},
		{"it is listed again", []trace.Event{change(trace.List, "", "", "")}, "No queue, watch or worker is stuck."},
		{"it is streamed again", []trace.Event{change(trace.WatchStart, trace.WatchList, "", "")}, "No queue, watch or worker is stuck."},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := slices.Concat([]trace.Event{deleted}, c.events, []trace.Event{{Kind: trace.Note, At: 12 * time.Second}})
			b := newTab(t, browser)
			require.NoError(t, b.do(openXRay(serveRecording(t, events)), until(shows(".state", "recording"))))
			said, err := get[string](b, `document.querySelector('.troubles').textContent`)
			require.NoError(t, err)
			assert.Contains(t, said, c.want)
		})
	}
}

// The write that removes the last finalizer comes back as a deletion, which has another version.
func TestTheWriteThatRemovesAFinalizerComesBack(t *testing.T) {
	browser, _ := start(t)
	order := func(kind trace.Kind, at time.Duration, op, version string) trace.Event {
		return trace.Event{Kind: kind, Layer: "shop", Object: "Order", Namespace: "default", Name: "one", At: at, Op: op, Version: version}
	}
	gone := order(trace.WatchEvent, 2*time.Second, "DELETED", "6")
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"after the answer", []trace.Event{order(trace.Write, time.Second, "update", "5"), gone}, "ok, back after 1.0 s"},
		{"before the answer", []trace.Event{gone, order(trace.Write, 3*time.Second, "update", "5")}, "ok, back before the answer"},
		{"but not as that of a new object", []trace.Event{order(trace.Write, time.Second, "create", "7"), gone}, "ok, not back yet"},
		{"nor of one that is made later", []trace.Event{gone, order(trace.Write, 3*time.Second, "create", "7")}, "ok, not back yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTab(t, browser)
			require.NoError(t, b.do(openXRay(serveRecording(t, c.events)), until(shows(".state", "recording"))))
			said, err := get[string](b, `document.querySelector('.write').textContent`)
			require.NoError(t, err)
			assert.Contains(t, said, c.want)
		})
	}
}

// serveRecording returns the address of an X-ray of these events.
func serveRecording(t *testing.T, events []trace.Event) (address string) {
	t.Helper()
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	var file strings.Builder
	require.NoError(t, trace.WriteJSON(&file, time.Now(), events))
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(file.String()), 0o600))
	ctx, stop := context.WithCancel(context.Background())
	addresses, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- xray.ServeFile(ctx, path, func(url string) { addresses <- url }) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	return <-addresses
}

func TestXRayNamesASlowReconcile(t *testing.T) {
	trouble(t, "slow-reconcile", 1, func(t *testing.T, e *example, b *tab) {
		require.NoError(t, b.do(until(shows(".queue", "later 3"))))
		ready := e.deployment(t, "web-3")
		ready.Status.Replicas, ready.Status.ReadyReplicas = 1, 1
		require.NoError(t, e.client.Status().Update(t.Context(), ready))
		require.NoError(t, b.do(until(shows(".write", "patch Deployment slow-reconcile/web-3 ok"))))
	})
}

func TestXRayNamesTwoManagersWithOneLease(t *testing.T) {
	trouble(t, "two-managers", 2, func(t *testing.T, _ *example, b *tab) {
		require.NoError(t, b.do(until(shows(".write", "patch Deployment two-managers/web ok"))))
	})
}
