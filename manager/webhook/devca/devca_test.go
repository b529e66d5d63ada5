package devca

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// world is an API server, with a configuration of each kind, and a CA.
type world struct {
	*testing.T
	server *fakeapi.Server
	client.Client
	ca *CA
}

var all = Options{
	MutatingWebhookConfigurations:   []string{"shop"},
	ValidatingWebhookConfigurations: []string{"shop"},
	CustomResourceDefinitions:       []string{"bananas.shop.example"},
}

func inWorld(t *testing.T, options Options, test func(*world), faults ...fakeapi.Fault) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kind := func(group, name string) fakeapi.Kind {
			return fakeapi.Kind{Group: group, Version: "v1", Kind: name, ClusterScoped: true}
		}
		server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{
			kind(mutating.Group, mutating.Kind), kind(validating.Group,
				validating.Kind), kind(crd.Group, crd.Kind)}})
		defer server.Close()
		for _, fault := range faults {
			server.Inject(fault)
		}
		c, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		ca, err := New(server.Config(), options)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ca.Start(ctx) }()
		test(&world{t, server, c, ca})
		stop()
		require.NoError(t, <-ended)
	})
}

// webhooks is a configuration with two webhooks.
func webhooks(t target) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.kind)
	object.SetAnnotations(map[string]string{"note": "stays"})
	object.SetName(t.name)
	if t.kind == crd {
		_ = unstructured.SetNestedField(object.Object, "Webhook", "spec", "conversion", "strategy")
		_ = unstructured.SetNestedField(object.Object, "https://localhost:9443/convert", "spec",
			"conversion", "webhook", "clientConfig", "url")
		return object
	}
	object.Object["webhooks"] = []any{
		map[string]any{"name": "a.shop.example",
			"clientConfig":  map[string]any{"url": "https://localhost:9443/a"},
			"failurePolicy": "Ignore"},
		map[string]any{"name": "b.shop.example",
			"clientConfig": map[string]any{"url": "https://localhost:9443/b"}},
	}
	return object
}

// bundles are the CA bundles in a configuration.
func (w *world) bundles(t target) (found []string) {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.kind)
	require.NoError(w, w.Get(w.Context(), client.ObjectKey{Name: t.name}, object))
	require.Equal(w, map[string]string{"note": "stays"}, object.GetAnnotations())
	var clients []any
	if t.kind == crd {
		config, _, _ := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook",
			"clientConfig")
		clients = append(clients, config)
	} else {
		for _, hook := range object.Object["webhooks"].([]any) {
			clients = append(clients, hook.(map[string]any)["clientConfig"])
		}
	}
	for _, config := range clients {
		text, _ := config.(map[string]any)["caBundle"].(string)
		bundle, err := base64.StdEncoding.DecodeString(text)
		require.NoError(w, err)
		found = append(found, string(bundle))
	}
	return found
}

func (w *world) present() generation {
	w.ca.mu.Lock()
	defer w.ca.mu.Unlock()
	return w.ca.generation
}

func (w *world) trusts(bundle string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundle))
	pair, err := w.ca.GetCertificate(nil)
	require.NoError(w, err)
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(w, err)
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: host,
			CurrentTime: time.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// This is what beginners get stuck at: the API server says "x509: certificate signed by unknown
// authority".
func TestTheCAIsWrittenIntoAllConfigurations(t *testing.T) {
	inWorld(t, all, func(w *world) {
		synctest.Wait()
		require.ErrorContains(w, w.ca.Announced(),
			"there is no MutatingWebhookConfiguration shop yet")
		require.ErrorContains(w, w.ca.Announced(),
			"there is no CustomResourceDefinition bananas.shop.example yet")
		for _, target := range w.ca.targets { // they may be created later
			require.NoError(w, w.Create(w.Context(), webhooks(target)))
		}
		synctest.Wait()
		require.NoError(w, w.ca.Announced())
		for _, target := range w.ca.targets {
			for _, bundle := range w.bundles(target) {
				require.Equal(w, string(w.ca.Bundle()), bundle, "%s", target)
				require.NoError(w, w.trusts(bundle), "%s", target)
			}
		}
	})
}

// kubectl replace takes the bundle out again, and the webhooks stop working without anybody seeing
// why.
func TestAConfigurationThatIsOverwrittenIsRepaired(t *testing.T) {
	inWorld(t, all, func(w *world) {
		for _, target := range w.ca.targets {
			require.NoError(w, w.Create(w.Context(), webhooks(target)))
		}
		synctest.Wait()
		for _, target := range w.ca.targets {
			object := webhooks(target)
			existing := &unstructured.Unstructured{}
			existing.SetGroupVersionKind(target.kind)
			require.NoError(w, w.Get(w.Context(), client.ObjectKey{Name: target.name}, existing))
			object.SetResourceVersion(existing.GetResourceVersion())
			require.NoError(w, w.Update(w.Context(), object))
			synctest.Wait()
			for _, bundle := range w.bundles(target) {
				require.Equal(w, string(w.ca.Bundle()), bundle,
					"%s was repaired without anybody waiting", target)
			}
			require.NoError(w, w.Delete(w.Context(), object))
			require.NoError(w, w.Create(w.Context(), webhooks(target)))
			synctest.Wait()
			require.NoError(w, w.ca.Announced())
		}
	})
}

func TestAnAPIServerThatFailsIsAskedAgain(t *testing.T) {
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
		target := w.ca.targets[0]
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Times: 2,
			Status: fakeapi.Conflict()})
		require.NoError(w, w.Create(w.Context(), webhooks(target)))
		synctest.Wait()
		require.ErrorContains(w, w.ca.Announced(),
			"writing the CA's certificate into ValidatingWebhookConfiguration shop")
		time.Sleep(3 * again)
		require.NoError(w, w.ca.Announced())
	})
}

func TestAWatchThatBreaksIsMadeAgain(t *testing.T) {
	watches := fakeapi.Match{Verb: "watch"}
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"shop"}}, func(w *world) {
		time.Sleep(30 * time.Second)
		require.NoError(w, w.Create(w.Context(), webhooks(w.ca.targets[0])))
		synctest.Wait()
		require.NoError(w, w.ca.Announced())
	}, fakeapi.Fault{Match: watches, Times: 1, CutAfter: time.Second}, fakeapi.Fault{Match: watches,
		Times: 1, CutAfter: time.Second, CutAbruptly: true},
		fakeapi.Fault{Match: watches, Times: 1, Refuse: true}, fakeapi.Fault{Match: watches,
			Times: 1, Status: fakeapi.TooManyRequests(1)})
}

// All along, what is served must be trusted by what the API server knew some seconds ago, and it
// must be far from its end.
func TestAllAreRenewedBeforeTheyRunOut(t *testing.T) {
	options := all
	options.Lifetime = time.Hour
	inWorld(t, options, func(w *world) {
		for _, target := range w.ca.targets {
			require.NoError(w, w.Create(w.Context(), webhooks(target)))
		}
		synctest.Wait()
		known, authorities, certificates := string(w.ca.Bundle()), map[string]bool{}, map[string]bool{}
		for i := range 25 * 60 * 12 { // 25 lives, in steps of 5 seconds
			time.Sleep(5 * time.Second)
			synctest.Wait()
			bundle, pair := string(w.ca.Bundle()), w.present().serving
			if serving := string(pair.pair.Certificate[0]); bundle != known ||
				!certificates[serving] {
				require.NoError(w, w.trusts(known), "in step %d", i)
				require.NoError(w, w.trusts(bundle))
				time.Sleep(2 * again) // a watch may just have ended
				require.NoError(w, w.ca.Announced())
				for _, target := range w.ca.targets {
					require.Equal(w, bundle, w.bundles(target)[0], "%s", target)
				}
				require.LessOrEqual(w, strings.Count(known, "BEGIN"), 3)
				known, certificates[serving] = bundle, true
				authorities[string(w.present().signer.pem)] = true
			}
			require.Greater(w, time.Until(pair.until), 15*time.Minute)
		}
		require.Greater(w, len(authorities), 3)
		require.Greater(w, len(certificates), 30)
	})
}

// Whoever develops closes the laptop in the evening. A timer stands still until morning, and the
// certificate doesn't.
func TestACertificateThatRanOutDuringASuspensionIsRenewedWithinAMinute(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		synctest.Wait()
		w.ca.mu.Lock()
		serving, signer := &w.ca.generation.serving, &w.ca.generation.signer
		for _, at := range []*time.Time{&serving.from, &serving.until, &signer.from, &signer.until} {
			*at = at.Add(-20 * time.Hour) // as seen from a clock that jumps by as much
		}
		w.ca.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Greater(w, time.Until(w.present().serving.until), 23*time.Hour)
	})
}

// A configuration that was never created must not keep the CA from being renewed.
func TestACAThatCannotBeAnnouncedIsRenewedAllTheSame(t *testing.T) {
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"missing"}, Lifetime: time.Hour},
		func(w *world) {
			first := string(w.ca.Bundle())
			time.Sleep(8 * time.Hour)
			require.Contains(w, string(w.ca.Bundle()), first)
			require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"),
				"the next CA is there, and waits")
			require.NoError(w, w.trusts(first))
			time.Sleep(100 * time.Hour)
			require.NoError(w, w.trusts(string(w.ca.Bundle())))
		})
}

func TestWhatCannotHaveABundleIsNamed(t *testing.T) {
	for name, object := range map[string]map[string]any{
		"it has no webhooks": {"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "MutatingWebhookConfiguration"},
		"its webhooks[0] has no client": {"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "MutatingWebhookConfiguration", "webhooks": []any{map[string]any{}}},
		"its webhooks[0] has no clientConfi": {"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "MutatingWebhookConfiguration", "webhooks": []any{"text"}},
		"it has no conversion webhook": {"apiVersion": "apiextensions.k8s.io/v1",
			"kind": "CustomResourceDefinition", "spec": map[string]any{}},
		"it has no conversion": {"apiVersion": "apiextensions.k8s.io/v1",
			"kind": "CustomResourceDefinition", "spec": "text"},
	} {
		changed, err := putBundle(&unstructured.Unstructured{Object: object}, []byte("bundle"))
		require.False(t, changed)
		require.ErrorContains(t, err, name)
	}
}

// A write that changes nothing is seen by all who watch, and by the CA itself, which would write
// again.
func TestABundleThatIsThereIsNotWrittenAgain(t *testing.T) {
	for _, kind := range []target{{mutating, "shop"}, {validating, "shop"},
		{crd, "bananas.shop.example"}} {
		object := webhooks(kind)
		changed, err := putBundle(object, []byte("bundle"))
		require.NoError(t, err)
		require.True(t, changed)
		changed, err = putBundle(object, []byte("bundle"))
		require.NoError(t, err)
		require.False(t, changed, "%s", kind)
	}
}

func TestALifetimeThatIsTooShortIsRefused(t *testing.T) {
	_, err := New(nil, Options{Lifetime: time.Second})
	require.ErrorContains(t, err, "a lifetime of 1s is too short")
}

// The steps, one after the other, with their times.
func TestTheStepsOfARotation(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	hours := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Hour))) }
	life := func(from, until float64) authority {
		return authority{from: hours(from), until: hours(until)}
	}
	serving := func(from, until float64) certificate {
		return certificate{from: hours(from), until: hours(until)}
	}
	next := life(20, 50)
	last := life(-20, 10)
	for _, c := range []struct {
		name string
		generation
		now  float64
		want step
		at   float64
	}{
		{"young", generation{signer: life(0, 30), serving: serving(0, 3)}, 1, stay, 2},
		{"two thirds of the certificate are over",
			generation{signer: life(0, 30), serving: serving(0, 3)}, 2, renew, 2},
		{"two thirds of the CA are over", generation{signer: life(0, 30), serving: serving(19, 25)},
			20, makeNext, 20},
		{"the next CA is not announced",
			generation{signer: life(0, 30), serving: serving(20, 29), next: &next}, 21, stay, 26},
		{"and cannot be", generation{signer: life(0, 30), serving: serving(24, 30), next: &next},
			27, promote, 27},
		{"it was announced just now", generation{signer: life(0, 30), serving: serving(20, 29),
			next: &next, told: hours(21)}, 21, stay, 21 + 10.0/3600},
		{"and a while ago", generation{signer: life(0, 30), serving: serving(20, 29), next: &next,
			told: hours(21)}, 21.1, promote, 21.1},
		{"the last CA is still good", generation{signer: life(0, 30), serving: serving(3, 20),
			last: &last}, 9, stay, 10},
		{"and has run out", generation{signer: life(0, 30), serving: serving(3, 20), last: &last},
			10, forgetLast, 10},
		{"what is overdue most comes first",
			generation{signer: life(0, 30), serving: serving(0, 3), last: &last}, 25, renew, 25},
	} {
		got, at := c.due(hours(c.now))
		require.Equal(t, c.want, got, c.name)
		require.WithinDuration(t, hours(c.at), at, time.Millisecond, c.name)
	}
}

// Somebody who waits for Renew goes on to throw the old CA away. Then all must know the new one.
func TestARenewalThatWasAskedForIsOverWhenAllKnowTheNewCA(t *testing.T) {
	inWorld(t, all, func(w *world) {
		for _, target := range w.ca.targets {
			require.NoError(w, w.Create(w.Context(), webhooks(target)))
		}
		synctest.Wait()
		before := string(w.ca.Bundle())
		began := time.Now()
		require.NoError(w, w.ca.Renew(w.Context()))
		require.GreaterOrEqual(w, time.Since(began), settling,
			"the API server had no time to learn about the new CA")
		require.Less(w, time.Since(began), settling+again)
		require.NoError(w, w.trusts(string(w.ca.Bundle())))
		require.Error(w, w.trusts(before), "the old CA still signs")
		require.NoError(w, w.ca.Announced())
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"))
		time.Sleep(time.Hour)
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"),
			"one request, one renewal")
	})
}

func TestTwoWhoAskForARenewalAtOnceGetOne(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		renewed := make(chan error, 2)
		for range 2 {
			go func() { renewed <- w.ca.Renew(w.Context()) }()
		}
		require.NoError(w, <-renewed)
		require.NoError(w, <-renewed)
		time.Sleep(time.Hour)
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"))
	})
}

// The second one comes when the next CA is there, and is not used yet.
func TestARenewalThatIsUnderWayIsTheOneThatOthersWaitFor(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		renewed := make(chan error, 2)
		for range 2 {
			go func() { renewed <- w.ca.Renew(w.Context()) }()
			time.Sleep(settling / 2)
		}
		require.NoError(w, <-renewed)
		require.NoError(w, <-renewed)
		time.Sleep(time.Hour)
		require.Equal(w, 2, strings.Count(string(w.ca.Bundle()), "BEGIN"))
	})
}

func TestARenewalThatCannotBeAnnouncedSaysWhy(t *testing.T) {
	inWorld(t, Options{ValidatingWebhookConfigurations: []string{"missing"}}, func(w *world) {
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		err := w.ca.Renew(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorContains(w, err, "ValidatingWebhookConfiguration missing")
	})
}

func TestARenewalIsDueWhenSomebodyAsks(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	young := generation{signer: authority{from: start, until: start.Add(30 * time.Hour)},
		serving: certificate{from: start, until: start.Add(3 * time.Hour)}}
	now := start.Add(time.Hour)
	young.asked = now
	what, _ := young.due(now)
	require.Equal(t, makeNext, what)
	old := young
	old.asked = start.Add(25 * time.Hour)
	old.serving.until = start.Add(100 * time.Hour)
	what, at := old.due(start.Add(20 * time.Hour))
	require.Equal(t, makeNext, what, "whoever asks late must not put off the renewal")
	require.Equal(t, start.Add(20*time.Hour), at)
}
