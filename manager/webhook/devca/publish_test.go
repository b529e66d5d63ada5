package devca

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// A CA that has nothing to say must not cost the API server anything.
func TestAQuietAPIServerIsHardlyAsked(t *testing.T) {
	for name, there := range inorder.Map(map[string]bool{"with all configurations": true,
		"without them": false}) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, all, func(w *world) {
				if there {
					for _, target := range w.ca.targets {
						require.NoError(w, w.Create(w.Context(), webhooks(target)))
					}
				}
				synctest.Wait()
				w.server.ForgetRequests()
				time.Sleep(time.Hour)
				synctest.Wait()
				require.Empty(w, w.server.Requests(fakeapi.Match{Verb: "update"}),
					"there is nothing to write")
				reads := len(w.server.Requests(fakeapi.Match{Verb: "get"}))
				require.LessOrEqual(w, reads, 3*30,
					"a look every few minutes, for three configurations")
				require.Equal(w, there, w.ca.Announced() == nil)
			})
		})
	}
}

func TestAnAPIServerThatDoesNotAnswerIsNotFlooded(t *testing.T) {
	watches := fakeapi.Match{Verb: "watch", Resource: "validatingwebhookconfigurations"}
	for name, c := range inorder.Map(map[string]struct {
		fault fakeapi.Fault
		says  string
	}{
		"it is down": {fakeapi.Fault{Match: watches, Refuse: true},
			"there is no ValidatingWebhookConfiguration shop yet"},
		"it fails": {fakeapi.Fault{Match: watches, Status: fakeapi.InternalError()},
			"watching ValidatingWebhookConfiguration shop: "},
	}) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
				time.Sleep(time.Minute)
				require.LessOrEqual(w, len(w.server.Requests(watches)), 100,
					"one every two seconds, and what the client repeats")
				require.ErrorContains(w, w.ca.Announced(), c.says)
			}, c.fault)
		})
	}
}

// A watch that is open and silent is the worst: nobody hears that it is broken.
func TestAConfigurationWhoseEventsAreLostGetsTheCAAllTheSame(t *testing.T) {
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
		synctest.Wait()
		require.NoError(w, w.Create(w.Context(), webhooks(w.ca.targets[0])))
		time.Sleep(10 * time.Minute)
		require.NoError(w, w.ca.Announced())
	}, fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DropEvents: 1})
}

// Somebody who sees only that webhooks fail needs the rule that is missing.
func TestAMissingPermissionIsNamed(t *testing.T) {
	for verb, doing := range inorder.Map(map[string]string{"watch": "watching ", "get": "reading ",
		"update": "writing the CA's certificate into "}) {
		t.Run(verb, func(t *testing.T) {
			inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
				require.NoError(w, w.Create(w.Context(), webhooks(w.ca.targets[0])))
				synctest.Wait()
				err := w.ca.Announced()
				require.ErrorContains(w, err, doing+"ValidatingWebhookConfiguration shop")
				require.ErrorContains(w, err, "needs the verbs get, list, watch and update")
			}, fakeapi.Fault{Match: fakeapi.Match{Verb: verb,
				Resource: "validatingwebhookconfigurations"}, Status: fakeapi.Forbidden()})
		})
	}
	require.ErrorContains(t, hint(&meta.NoKindMatchError{}),
		"the API server does not serve this kind")
	other := errors.New("another error")
	require.Equal(t, other, hint(other))
}

// lines collects what is logged while a test runs.
type lines struct {
	mu   sync.Mutex // guards said
	said []string
}

func collectLog(t *testing.T) *lines {
	t.Helper()
	l := &lines{}
	before := packageLog
	t.Cleanup(func() { packageLog = before })
	packageLog = funcr.New(func(_, line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.said = append(l.said, line)
	}, funcr.Options{})
	return l
}

// since is what was said since the last call, in one piece.
func (l *lines) since() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := strings.Join(l.said, "\n")
	l.said = nil
	return said
}

func TestTheLogSaysOnceWhatHappensToTheCA(t *testing.T) {
	log := collectLog(t)
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
		target := w.ca.targets[0]
		time.Sleep(time.Hour)
		said := log.since()
		require.Equal(w, 1, strings.Count(said, "\n")+1, said)
		require.Contains(w, said,
			`"msg"="The API server does not know the CA" "error"="there is no ValidatingWebhookConfiguration shop yet`)

		remove := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"},
			Status: fakeapi.Forbidden()})
		require.NoError(w, w.Create(w.Context(), webhooks(target)))
		time.Sleep(time.Minute)
		said = log.since()
		require.Equal(w, 1, strings.Count(said, "\n")+1, said)
		require.Contains(w, said, "writing the CA's certificate into", "another failure is news")

		remove()
		time.Sleep(time.Minute)
		require.Equal(w,
			`"level"=0 "msg"="Wrote the CA's certificate" "into"="ValidatingWebhookConfiguration shop"`, log.since())

		require.NoError(w, w.ca.Renew(w.Context()))
		require.Contains(w, log.since(), `"msg"="Renewing the CA"`)
		time.Sleep(23 * time.Hour)
		require.Contains(w, log.since(), `"msg"="Renewing the certificate"`)
	})
}

// A program that ends must not look as if something were wrong.
func TestACAThatEndsInTheMiddleOfARequestDoesNotComplain(t *testing.T) {
	for _, verb := range []string{"watch", "get", "update"} {
		log := collectLog(t)
		inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
			require.NoError(w, w.Create(w.Context(), webhooks(w.ca.targets[0])))
			synctest.Wait()
		}, fakeapi.Fault{Match: fakeapi.Match{Verb: verb,
			Resource: "validatingwebhookconfigurations"}, Hang: true})
		require.NotContains(t, log.since(), "context canceled", verb)
	}
}

func TestAConfigurationThatCannotHaveTheCAIsNamed(t *testing.T) {
	inWorld(t, Options{MutatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
		empty := webhooks(w.ca.targets[0])
		delete(empty.Object, "webhooks")
		require.NoError(w, w.Create(w.Context(), empty))
		synctest.Wait()
		require.ErrorContains(w, w.ca.Announced(),
			"MutatingWebhookConfiguration shop cannot have the CA's certificate: ")
	})
}

func TestNothingOfACAIsLeftWhenItEnds(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{{Group: validating.Group,
				Version: "v1", Kind: validating.Kind, ClusterScoped: true}}})
			defer server.Close()
			ca, err := New(server.Config(),
				Options{ValidatingWebhookConfigurations: []string{"a", "b", "c"}})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- ca.Start(ctx) }()
			synctest.Wait()
			stop()
			require.NoError(t, <-ended)
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			require.NotContains(t, string(stacks), "devca.publisher.run")
		})
	}
}

// Whoever reads "there is no configuration yet" looks for it, and not for the proxy that has answered.
func TestAProxys404IsNoMissingConfiguration(t *testing.T) {
	gets := fakeapi.Match{Verb: "get", Resource: "validatingwebhookconfigurations"}
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
		time.Sleep(time.Minute)
		require.ErrorContains(w, w.ca.Announced(), "reading ValidatingWebhookConfiguration shop: ")
		require.Greater(w, len(w.server.Requests(gets)), 3, "it's tried again, and soon")
	}, fakeapi.Fault{Match: gets, Status: &metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound}})
}
