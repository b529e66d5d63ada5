package garbagecollector

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/client"
)

// onRequests calls on for each of the collector's requests of this method about a ConfigMap, before
// it reaches the server, with its number. What on returns is the answer, unless it's nil.
func (w *world) onRequests(
	method, name string, on func(r *http.Request, number int) *http.Response,
) {
	var number atomic.Int64
	w.Proxy(func(r *http.Request) *http.Response {
		if r.Method != method || !strings.HasSuffix(r.URL.Path, "/configmaps/"+name) {
			return nil
		}
		return on(r, int(number.Add(1)))
	})
}

// A Pod that kubectl delete --cascade=orphan was to keep would be deleted, or an owner would wait
// forever, because a load balancer answered one request, or those of a minute.
func TestA404ThatIsNotTheAPIServersNeitherLosesNorKeepsAnObject(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		for _, name := range []string{"dependent", "root"} {
			for _, lasts := range []time.Duration{0, time.Minute} {
				t.Run(fmt.Sprint(method, " ", name, " ", lasts), func(t *testing.T) {
					inWorld(t, func(t *testing.T, w *world) {
						w.playWith404s(method, name, lasts)
					})
				})
			}
		}
	}
}

// playWith404s deletes a root with each policy, while requests about names that begin with prefix
// are answered with 404.
func (w *world) playWith404s(method, prefix string, lasts time.Duration) {
	w.run()
	other := w.configMap("other")
	roots := map[metav1.DeletionPropagation]*corev1.ConfigMap{}
	for _, policy := range policies {
		roots[policy] = w.configMap(nameIn("root", policy))
		w.configMap(nameIn("dependent", policy), owner(roots[policy]))
		w.configMap(nameIn("shared", policy), owner(roots[policy]), owner(other))
	}
	w.Settle()
	until := time.Now().Add(lasts)
	var told sync.Map // by name: several requests at once come this way
	w.Proxy(func(r *http.Request) *http.Response {
		_, name, isMap := strings.Cut(r.URL.Path, "/configmaps/")
		if r.Method != method || !isMap || !strings.HasPrefix(name, prefix) {
			return nil
		}
		if _, before := told.LoadOrStore(name, true); before && time.Now().After(until) {
			return nil
		}
		return fakeapi.Answer(r, 404, inText, "404 page not found")
	})
	for _, policy := range policies {
		require.NoError(w.T, w.Live.Delete(w.T.Context(), roots[policy],
			client.PropagationPolicy(policy)))
	}
	time.Sleep(5 * time.Minute)
	require.Equal(w.T, []string{"configmap/dependent-orphan", "configmap/other",
		"configmap/shared-background", "configmap/shared-foreground", "configmap/shared-orphan"},
		w.left())
	require.Empty(w.T, w.owners("dependent-orphan"))
	for _, policy := range policies {
		require.Equal(w.T, []string{"other"}, w.owners(nameIn("shared", policy)), policy)
	}
}

func nameIn(what string, policy metav1.DeletionPropagation) string {
	return what + "-" + strings.ToLower(string(policy))
}

// A server that lags behind answers that a dependent isn't there yet, or that it's as it was. Then
// the dependent would be deleted that a user wanted to keep, or garbage would stay.
func TestAStaleAnswerAboutADependentNeitherLosesNorKeepsIt(t *testing.T) {
	for _, name := range []string{"dependent", "root"} {
		for _, policy := range policies {
			t.Run(name+string(policy), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					w.run()
					w.configMap("root")
					root := named("root")
					w.Read(root)
					w.configMap("dependent", owner(root))
					lift := w.Server.Inject(fakeapi.Fault{
						Match: fakeapi.Match{
							UserAgent: simulation.Agent, Verb: "get", Name: name,
						},
						Stale: 3,
					})
					require.NoError(t, w.Live.Delete(t.Context(), root,
						client.PropagationPolicy(policy)))
					time.Sleep(20 * time.Second)
					lift()
					time.Sleep(5 * time.Minute)
					if policy == orphan {
						require.Equal(t, []string{"configmap/dependent"}, w.left())
						require.Empty(t, w.owners("dependent"))
					} else {
						require.Empty(t, w.left())
					}
				})
			})
		}
	}
}

// Between the collector's last look at an object and its deletion, another process adopts the
// object, or says what's to become of its own dependents. The object would be deleted although it
// has a living owner, or its dependents with it, if the collector deleted any version.
func TestAnObjectThatChangesBetweenTheLastLookAndTheDeletionIsJudgedAgain(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		change func(w *world, m *corev1.ConfigMap)
		left   []string
	}{
		"adopted": {
			func(w *world, m *corev1.ConfigMap) {
				alive := named("alive")
				w.Read(alive)
				m.OwnerReferences = append(m.OwnerReferences, owner(alive))
			},
			[]string{"configmap/alive", "configmap/dependent", "configmap/leaf"},
		},
		"released": {
			func(_ *world, m *corev1.ConfigMap) { m.OwnerReferences = nil },
			[]string{"configmap/alive", "configmap/dependent", "configmap/leaf"},
		},
		"orphans": {
			func(_ *world, m *corev1.ConfigMap) {
				m.Finalizers = []string{metav1.FinalizerOrphanDependents}
			},
			[]string{"configmap/alive", "configmap/leaf"},
		},
	}) {
		for _, before := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " before deletion ", before), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					w.run()
					root := w.configMap("root")
					w.configMap("alive")
					dependent := w.configMap("dependent", owner(root))
					w.configMap("leaf", owner(dependent))
					w.Settle()
					w.onRequests(http.MethodDelete, "dependent",
						func(_ *http.Request, number int) *http.Response {
							if number <= before {
								simulation.Edit(w.World, named("dependent"),
									func(m *corev1.ConfigMap) {
										m.Labels = map[string]string{"n": fmt.Sprint(number)}
										if number == before {
											c.change(w, m)
										}
									})
							}
							return nil
						})
					w.delete(root, background)
					time.Sleep(5 * time.Minute)
					require.Equal(t, c.left, w.left())
				})
			})
		}
	}
}

// A Pod whose status changes between each look and each deletion would never be collected.
func TestAnObjectThatChangesBeforeEachDeletionForAWhileIsDeletedInTheEnd(t *testing.T) {
	for _, changes := range []int{4, 5, 20} {
		inWorld(t, func(t *testing.T, w *world) {
			w.run()
			root := w.configMap("root")
			w.configMap("dependent", owner(root))
			w.Settle()
			w.onRequests(http.MethodDelete, "dependent",
				func(_ *http.Request, number int) *http.Response {
					if number <= changes {
						simulation.Edit(w.World, named("dependent"), func(m *corev1.ConfigMap) {
							m.Labels = map[string]string{"n": fmt.Sprint(number)}
						})
					}
					return nil
				})
			w.delete(root, background)
			time.Sleep(20 * time.Minute)
			require.Empty(t, w.left(), "%d changes", changes)
			require.Equal(t, changes+1, w.asked("delete", "configmaps"))
		})
	}
}

// An object that was replaced under its name while the collector decided is another object.
func TestAnObjectThatReplacesGarbageUnderItsNameStays(t *testing.T) {
	for _, at := range []string{http.MethodGet, http.MethodDelete} {
		inWorld(t, func(t *testing.T, w *world) {
			w.run()
			root := w.configMap("root")
			w.configMap("dependent", owner(root))
			w.Settle()
			w.onRequests(at, "dependent", func(_ *http.Request, number int) *http.Response {
				if number == 1 {
					require.NoError(t, w.Live.Delete(t.Context(), named("dependent")))
					w.configMap("dependent")
				}
				return nil
			})
			w.delete(root, background)
			time.Sleep(5 * time.Minute)
			require.Equal(t, []string{"configmap/dependent"}, w.left())
		})
	}
}

// What a Secret owns would be deleted because a proxy answered with an object that isn't the Secret.
func TestAnAnswerAboutAnotherObjectOrNoneDoesNotMakeAnOwnerAbsent(t *testing.T) {
	for _, c := range []struct{ metadata, says string }{
		{`{}`, `got / with the UID ""`},
		{`{"namespace":"default","name":"owner"}`, `got default/owner with the UID ""`},
		{`{"namespace":"default","name":"else","uid":"other"}`,
			`got default/else with the UID "other"`},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			var told atomic.Int64
			w.Proxy(func(r *http.Request) *http.Response {
				switch {
				case strings.HasSuffix(r.URL.Path, "/secrets"):
					return fakeapi.Answer(r, 503, inText, "the graph has no Secrets")
				case !strings.HasSuffix(r.URL.Path, "/secrets/owner"):
					return nil
				}
				told.Add(1)
				return fakeapi.Answer(r, 200, "application/json",
					`{"kind":"Secret","apiVersion":"v1","metadata":`+c.metadata+`}`)
			})
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "owner",
			}}
			w.Create(secret)
			ref := metav1.OwnerReference{
				APIVersion: "v1", Kind: "Secret", Name: "owner", UID: secret.UID,
			}
			w.configMap("dependent", ref)
			w.Start()
			time.Sleep(time.Minute)
			require.Positive(t, told.Load(), "the collector has asked for the owner")
			require.Equal(t, []string{"configmap/dependent"}, w.left())
			answer := metadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
			require.NoError(t, json.Unmarshal([]byte(c.metadata), &answer.ObjectMeta))
			require.ErrorContains(t, isAbout(client.ObjectKeyFromObject(secret), answer), c.says)
		})
	}
}
