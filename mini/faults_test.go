package mini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// manyCalls are calls of all verbs. A story of them is long enough for each fault to be in it.
func manyCalls() (calls []mini.Call) {
	for _, verb := range []string{"GET", "WATCH", "POST", "PUT", "PATCH", "DELETE"} {
		for n := range 200 {
			for try := 1; try <= 5; try++ {
				calls = append(calls, mini.Call{Verb: verb, Path: fmt.Sprint("/api/v1/things/t", n), Try: try})
			}
		}
	}
	return calls
}

// Otherwise a failing seed can't be played again.
//
// Function: Seed
func TestTheSameSeedChoosesTheSameFaults(t *testing.T) {
	calls := manyCalls()
	first := map[mini.Call]mini.Fault{}
	choose := mini.Seed(7)
	for _, c := range calls {
		first[c] = choose(c)
	}
	again := mini.Seed(7)
	for _, c := range slices.Backward(calls) { // other goroutines are faster today
		require.Equal(t, first[c], again(c), "%v: what hits a call must not depend on the calls before it", c)
	}
	other, differ := mini.Seed(8), 0
	for _, c := range calls {
		if other(c) != first[c] {
			differ++
		}
	}
	require.Greater(t, differ, 100, "each seed has to be another day, or 200 seeds test what one does")
}

// A read that conflicts is no test of anything.
//
// Function: Seed
func TestEachVerbMeetsAllFaultsThatItCanMeet(t *testing.T) {
	met, wrong := map[string]int{}, 0
	choose, calls := mini.Seed(1), manyCalls()
	for _, c := range calls {
		if fault := choose(c); fault != mini.NoFault {
			wrong++
			met[c.Verb+" "+string(fault)]++
		}
	}
	var names []string
	for name := range met {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"GET refused", "WATCH refused", "WATCH expired", "WATCH watch cut", "WATCH watch late",
		"POST refused", "POST answer lost", "PUT refused", "PUT answer lost", "PUT conflict",
		"PATCH refused", "PATCH answer lost", "PATCH conflict", "DELETE refused", "DELETE answer lost",
	}, names)
	require.InDelta(t, len(calls)/8, wrong, float64(len(calls)/40), "one call in eight goes wrong")
	for seed := range uint64(100) {
		require.Equal(t, mini.NoFault, mini.Seed(seed)(mini.Call{Verb: "OPTIONS", Path: "/", Try: 1}),
			"a verb for which there are no faults goes well")
	}
}

// A day on which some call fails forever has no end to compare.
//
// Function: Seed
func TestFromTheSixthTryOnACallGoesWell(t *testing.T) {
	atFive := 0
	for seed := range uint64(100) {
		choose := mini.Seed(seed)
		for try := 5; try < 50; try++ {
			fault := choose(mini.Call{Verb: "PUT", Path: "/api/v1/nodes/a", Try: try})
			if try == 5 && fault != mini.NoFault {
				atFive++
			}
			if try > 5 {
				require.Equal(t, mini.NoFault, fault, "seed %d, try %d", seed, try)
			}
		}
	}
	require.Positive(t, atFive, "the fifth try may still go wrong")
}

// faulty returns a client whose requests go through faults.
func (w *world) faulty(faults *mini.Faults) *mini.Client {
	w.Helper()
	config := w.Server.Config()
	config.Wrap(faults.Wrap)
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	require.NoError(w, err)
	return &mini.Client{Cluster: cluster}
}

// onEach is a choice that hits each call with this verb.
func onEach(verb string, fault mini.Fault) mini.Choice {
	return func(c mini.Call) mini.Fault {
		if c.Verb == verb {
			return fault
		}
		return mini.NoFault
	}
}

func (w *world) has(name string) bool {
	_, err := w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, name, metav1.GetOptions{})
	return err == nil
}

// The choice decides by the name of a call: if two requests had the same one, a fault would hit both.
//
// Function: Faults.choose
func TestACallIsNamedByItsVerbItsPathAndItsTry(t *testing.T) {
	inMemory(t, func(w *world) {
		var calls []mini.Call
		c := w.faulty(&mini.Faults{Choose: func(c mini.Call) mini.Fault {
			calls = append(calls, c)
			return mini.NoFault
		}})
		require.NoError(w, c.Create(w.ctx, configMap("a", "")))
		require.NoError(w, c.Create(w.ctx, configMap("b", "")))
		require.NoError(w, c.Update(w.ctx, configMap("a", "")))
		require.NoError(w, c.Delete(w.ctx, configMap("a", ""), metav1.DeleteOptions{}))
		lw, err := c.Cluster.ListWatch(configMap("", ""), "")
		require.NoError(w, err)
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		watching, err := lw.Watch(w.ctx, version)
		require.NoError(w, err)
		watching.Stop()
		_, _, err = lw.List(w.ctx)
		require.NoError(w, err)
		const all, here = "/api/v1/configmaps", "/api/v1/namespaces/default/configmaps"
		require.Equal(w, []mini.Call{
			{Verb: "POST", Path: here, Try: 1}, {Verb: "POST", Path: here, Try: 2},
			{Verb: "PUT", Path: here + "/a", Try: 1}, {Verb: "DELETE", Path: here + "/a", Try: 1},
			{Verb: "GET", Path: all, Try: 1}, {Verb: "WATCH", Path: all, Try: 1},
			{Verb: "GET", Path: all, Try: 2},
		}, calls)
	})
}

// The calm day is the one to compare with, so nothing may go wrong on it.
//
// Function: Faults.choose
func TestWithoutAChoiceNothingGoesWrong(t *testing.T) {
	inMemory(t, func(w *world) {
		faults := &mini.Faults{}
		require.NoError(w, w.faulty(faults).Create(w.ctx, configMap("a", "")))
		require.True(w, w.has("a"))
		require.Empty(w, faults.Story())
	})
}

// Who reads the story wants to know what went wrong, and not what went well.
//
// Function: Faults.choose
func TestTheStoryHasTheCallsThatWentWrongInTheirOrder(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "")
		w.createMap("b", "")
		faults := &mini.Faults{Choose: func(c mini.Call) mini.Fault {
			if c.Try == 2 && strings.HasSuffix(c.Path, "/a") || c.Try == 1 && strings.HasSuffix(c.Path, "/b") {
				return mini.Refused
			}
			return mini.NoFault
		}}
		c := w.faulty(faults)
		require.Error(w, c.Update(w.ctx, configMap("b", "")))
		require.NoError(w, c.Update(w.ctx, configMap("a", "")))
		require.Error(w, c.Update(w.ctx, configMap("a", "")))
		var lines []string
		for _, i := range faults.Story() {
			lines = append(lines, i.String())
		}
		require.Equal(w, []string{
			"PUT /api/v1/namespaces/default/configmaps/b, try 1: refused",
			"PUT /api/v1/namespaces/default/configmaps/a, try 2: refused",
		}, lines)
	})
}

// Function: Faults.RoundTrip
func TestARefusedRequestNeverArrives(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.faulty(&mini.Faults{Choose: onEach("POST", mini.Refused)})
		require.Error(w, c.Create(w.ctx, configMap("a", "")))
		require.False(w, w.has("a"), "the request reached the API server")
	})
}

// The client can't tell this error from that of a refused request. That's the point.
//
// Function: Faults.RoundTrip
func TestAWriteWhoseAnswerIsLostWasMade(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.faulty(&mini.Faults{Choose: onEach("POST", mini.AnswerLost)})
		obj := configMap("a", "")
		err := c.Create(w.ctx, obj)
		require.Error(w, err)
		require.Empty(w, obj.ResourceVersion, "the client knows the answer after all")
		var status apierrors.APIStatus
		require.False(w, errors.As(err, &status), "this is an answer of the API server: %v", err)
		require.True(w, w.has("a"), "the write has to be made before its answer gets lost")
	})
}

// Function: Faults.RoundTrip
func TestAConflictIsAnAnswerAndWritesNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		calm := w.faulty(&mini.Faults{})
		obj := configMap("a", "")
		require.NoError(w, calm.Create(w.ctx, obj))
		c := w.faulty(&mini.Faults{Choose: onEach("PUT", mini.Conflict)})
		changed := obj.DeepCopy()
		changed.Data["changed"] = "yes"
		err := c.Update(w.ctx, changed)
		require.True(w, apierrors.IsConflict(err), "a controller asks IsConflict, and this is: %v", err)
		stored, err := w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Empty(w, stored.Data["changed"])
	})
}

// watchOf watches ConfigMaps from now on.
func (w *world) watchOf(faults *mini.Faults) (events func() []string, err error) {
	lw, err := w.faulty(faults).Cluster.ListWatch(configMap("", ""), "")
	require.NoError(w, err)
	_, version, err := lw.List(w.ctx)
	require.NoError(w, err)
	watching, err := lw.Watch(w.ctx, version)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // guards got
	var got []string
	add := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, name)
	}
	w.run(func(context.Context) error {
		for event := range watching.ResultChan() {
			if obj, ok := event.Object.(mini.Object); ok {
				add(obj.GetName())
			} else {
				add(string(event.Type))
			}
		}
		add("the end")
		return nil
	})
	return func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}, nil
}

// An informer that gets a 410 has to list again; any other error lets it try the same version again.
//
// Function: Faults.RoundTrip
func TestAnExpiredWatchIsAnswered410(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := w.watchOf(&mini.Faults{Choose: onEach("WATCH", mini.Expired)})
		require.True(w, mini.IsExpired(err), "%v", err)
	})
}

// Function: Faults.RoundTrip
func TestACutWatchEndsWithItsFirstEvent(t *testing.T) {
	inMemory(t, func(w *world) {
		events, err := w.watchOf(&mini.Faults{Choose: onEach("WATCH", mini.WatchCut)})
		require.NoError(w, err)
		require.Empty(w, events(), "the watch has ended, and nothing has happened yet")
		calm := w.faulty(&mini.Faults{})
		require.NoError(w, calm.Create(w.ctx, configMap("a", "")))
		require.Contains(w, events(), "the end", "the watch goes on")
		require.NoError(w, calm.Create(w.ctx, configMap("b", "")))
		require.NotContains(w, events(), "b")
	})
}

// A cache is stale while its watch is late. Nothing may get lost by that.
//
// Function: Faults.RoundTrip
func TestALateWatchBringsAllOfItsEventsThreeSecondsLater(t *testing.T) {
	inMemory(t, func(w *world) {
		events, err := w.watchOf(&mini.Faults{Choose: onEach("WATCH", mini.WatchLate)})
		require.NoError(w, err)
		calm := w.faulty(&mini.Faults{})
		require.NoError(w, calm.Create(w.ctx, configMap("a", "")))
		time.Sleep(2 * time.Second)
		require.NoError(w, calm.Create(w.ctx, configMap("b", "")))
		require.Empty(w, events(), "three seconds aren't over")
		time.Sleep(time.Second)
		require.Equal(w, []string{"a", "b"}, events())
		require.NoError(w, calm.Create(w.ctx, configMap("c", "")))
		require.Equal(w, []string{"a", "b", "c"}, events(), "only the first event makes the watch late")
	})
}

// A program that stops must not wait for a late watch.
//
// Function: Faults.RoundTrip
func TestALateWatchEndsWithItsContext(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := w.watchOf(&mini.Faults{Choose: onEach("WATCH", mini.WatchLate)})
		require.NoError(w, err)
		require.NoError(w, w.faulty(&mini.Faults{}).Create(w.ctx, configMap("a", "")))
		synctest.Wait()
		began := time.Now()
		w.end()
		require.Zero(w, time.Since(began))
	})
}

// spoken returns what Faults answers to one request, in the place of an API server that says "one, two".
func spoken(t *testing.T, fault mini.Fault) (response *http.Response, err error) {
	t.Helper()
	faults := &mini.Faults{Choose: func(mini.Call) mini.Fault { return fault }}
	r, err := http.NewRequest("GET", "http://server/api", nil)
	require.NoError(t, err)
	server := proxied(func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("one"), strings.NewReader("two"))
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
	})
	return faults.Wrap(server).RoundTrip(r)
}

// A proxy or a client that isn't client-go would notice if the answer weren't an API server's.
//
// Function: Faults.RoundTrip
func TestAnInjectedAnswerIsAStatusOfAnAPIServer(t *testing.T) {
	for _, want := range []struct {
		fault  mini.Fault
		code   int
		reason metav1.StatusReason
	}{
		{mini.Conflict, http.StatusConflict, metav1.StatusReasonConflict},
		{mini.Expired, http.StatusGone, metav1.StatusReasonExpired},
	} {
		response, err := spoken(t, want.fault)
		require.NoError(t, err)
		require.Equal(t, want.code, response.StatusCode)
		require.Equal(t, "application/json", response.Header.Get("Content-Type"))
		var status metav1.Status
		require.NoError(t, json.NewDecoder(response.Body).Decode(&status))
		require.NoError(t, response.Body.Close())
		require.Equal(t, metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, status.TypeMeta)
		require.Equal(t, want.reason, status.Reason)
		require.Contains(t, status.Message, "injected", "who reads a log wants to know that this was no accident")
	}
}

// Function: Faults.RoundTrip
func TestAFaultOfTheConnectionIsAnErrorAndNoAnswer(t *testing.T) {
	for _, fault := range []mini.Fault{mini.Refused, mini.AnswerLost} {
		response, err := spoken(t, fault) //nolint:bodyclose // there's none
		require.ErrorContains(t, err, "injected", "who reads a log wants to know that this was no accident")
		require.Nil(t, response)
	}
}

// Function: Faults.RoundTrip
func TestACutBodyHasItsFirstPieceAndThenNothing(t *testing.T) {
	response, err := spoken(t, mini.WatchCut)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a watch that ends in order would be io.EOF")
	require.Equal(t, "one", string(text))
	require.NoError(t, response.Body.Close())
}

// offline is an API server that can't be reached.
type offline struct{ err error }

func (o offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, o.err }

// What really goes wrong mustn't be hidden by what's injected.
//
// Function: Faults.RoundTrip
func TestARealErrorComesThrough(t *testing.T) {
	for _, fault := range []mini.Fault{mini.NoFault, mini.AnswerLost, mini.WatchCut, mini.WatchLate} {
		err := errors.New("the cable is cut")
		faults := &mini.Faults{Choose: func(mini.Call) mini.Fault { return fault }}
		r, _ := http.NewRequest("GET", "http://server/api", strings.NewReader(""))
		response, got := faults.Wrap(offline{err}).RoundTrip(r) //nolint:bodyclose // there's none
		require.ErrorIs(t, got, err, "with the fault %q", fault)
		require.Nil(t, response)
	}
}

// bodies counts the bodies that are open.
type bodies struct{ open int }

func (b *bodies) RoundTrip(*http.Request) (*http.Response, error) {
	b.open++
	return &http.Response{StatusCode: http.StatusOK, Body: b}, nil
}

func (b *bodies) Read([]byte) (int, error) { return 0, io.EOF }
func (b *bodies) Close() error             { b.open--; return nil }

// A connection whose body stays open can't be used again, and one day there are too many.
//
// Function: Faults.RoundTrip
func TestALostAnswerLeavesNoConnectionBehind(t *testing.T) {
	b := &bodies{}
	faults := &mini.Faults{Choose: onEach("PUT", mini.AnswerLost)}
	r, _ := http.NewRequest("PUT", "http://server/api", nil)
	_, err := faults.Wrap(b).RoundTrip(r) //nolint:bodyclose // there's none
	require.Error(t, err)
	require.Zero(t, b.open)
}

// breaksBy is a day with ten calls that ends badly if it's hit by all of these faults.
func breaksBy(days *int, need ...mini.Injected) mini.Day {
	return func(faults *mini.Faults) string {
		*days++
		answers := faults.Wrap(&bodies{})
		for try := range 10 {
			for _, verb := range []string{"GET", "POST", "PUT"} {
				r, _ := http.NewRequest(verb, fmt.Sprint("http://server/", try/5), nil)
				_, _ = answers.RoundTrip(r) //nolint:bodyclose // there's none
			}
		}
		for _, fault := range need {
			if !slices.Contains(faults.Story(), fault) {
				return "fine"
			}
		}
		return "broken"
	}
}

func injected(verb, path string, try int, fault mini.Fault) mini.Injected {
	return mini.Injected{Call: mini.Call{Verb: verb, Path: path, Try: try}, Fault: fault}
}

// Function: Play
func TestIfAllDaysEndLikeTheCalmOneThereIsNoBadDay(t *testing.T) {
	days := 0
	never := injected("GET", "/0", 1, mini.Conflict)
	require.Nil(t, mini.Play(20, breaksBy(&days, never)))
	require.Equal(t, 21, days, "one calm day, and one for each seed")
}

// Function: Play
func TestTheFirstDayIsCalm(t *testing.T) {
	var stories [][]mini.Injected
	days := 0
	day := breaksBy(&days, injected("GET", "/0", 1, mini.Conflict))
	mini.Play(3, func(faults *mini.Faults) string {
		defer func() { stories = append(stories, faults.Story()) }()
		return day(faults)
	})
	require.Empty(t, stories[0], "there's nothing to compare with if the first day is a bad one")
	require.NotEmpty(t, slices.Concat(stories[1:]...), "the other days have to have faults")
}

// Who gets a seed can play it again: it's the first that fails.
//
// Function: Play
func TestTheFirstSeedWhoseDayEndsElsewhereIsFound(t *testing.T) {
	days, need := 0, injected("POST", "/0", 2, mini.AnswerLost)
	first := uint64(0)
	for mini.Seed(first)(need.Call) != need.Fault {
		first++
	}
	require.Positive(t, first, "the test would prove nothing")
	bad := mini.Play(1000, breaksBy(&days, need))
	require.NotNil(t, bad, "no seed has failed, and seed %d had to", first)
	require.Equal(t, first, bad.Seed)
	require.Equal(t, "fine", bad.Calm)
	require.Equal(t, "broken", bad.End)
}

// A story of nine faults is no explanation if one of them was enough.
//
// Function: shrink
func TestAStoryIsShrunkToTheFaultsThatAreNeeded(t *testing.T) {
	days := 0
	one := injected("POST", "/0", 2, mini.AnswerLost)
	bad := mini.Play(1000, breaksBy(&days, one))
	require.NotNil(t, bad)
	require.Equal(t, []mini.Injected{one}, bad.Story)

	other := injected("PUT", "/1", 4, mini.Conflict)
	bad = mini.Play(10_000, breaksBy(&days, one, other))
	require.NotNil(t, bad)
	require.Equal(t, []mini.Injected{one, other}, bad.Story, "both are needed")
	require.Equal(t, "broken", bad.End)
}

// Whoever plays the shrunk story sees another end, and looks for a mistake that isn't there.
//
// Function: shrink
func TestTheEndIsThatOfTheShrunkStory(t *testing.T) {
	days := 0
	one := injected("POST", "/0", 2, mini.AnswerLost)
	run := breaksBy(&days, one)
	bad := mini.Play(1000, func(faults *mini.Faults) string {
		if end := run(faults); end == "fine" {
			return end
		}
		return fmt.Sprint("broken by ", len(faults.Story()), " of the faults")
	})
	require.NotNil(t, bad)
	require.Equal(t, []mini.Injected{one}, bad.Story, "any end but the calm one is a bad one")
	require.Equal(t, "broken by 1 of the faults", bad.End, "this is how the shrunk day ends")
}

// A fault may be needed only because of another one, which goes later.
//
// Function: shrink
func TestNoFaultOfAShrunkStoryCanBeLeftOut(t *testing.T) {
	key := injected("PUT", "/1", 4, mini.AnswerLost)
	cure, spoiler := injected("PUT", "/1", 3, mini.Conflict), injected("GET", "/0", 1, mini.Refused)
	seed := uint64(0)
	for ; seed < 1_000_000; seed++ {
		choose := mini.Seed(seed)
		if choose(key.Call) == key.Fault && choose(cure.Call) == cure.Fault && choose(spoiler.Call) == spoiler.Fault {
			break
		}
	}
	days, played := 0, uint64(0)
	run := breaksBy(&days)
	bad := mini.Play(seed+1, func(faults *mini.Faults) string {
		if played++; played < seed+2 { // the calm day, and those of the seeds before
			return "fine"
		}
		run(faults)
		story := faults.Story()
		has := func(i mini.Injected) bool { return slices.Contains(story, i) }
		if has(key) && (!has(cure) || has(spoiler)) {
			return "broken"
		}
		return "fine"
	})
	require.NotNil(t, bad)
	require.Equal(t, []mini.Injected{key}, bad.Story, "the other two are needed only while both are there")
}

// replicaSetDay is a day of the controller of chapter 12.
func replicaSetDay(t *testing.T) mini.Day {
	return func(faults *mini.Faults) (end string) {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{NoManagedFields: true})
			defer server.Close()
			calm, disturbed := server.Config(), server.Config()
			disturbed.Wrap(faults.Wrap)
			ofUsers, err := mini.NewCluster(calm, scheme.Scheme)
			require.NoError(t, err)
			cluster, err := mini.NewCluster(disturbed, scheme.Scheme)
			require.NoError(t, err)
			m := mini.NewManager(cluster)
			c := m.NewController("replicaset", 1, &mini.FirstReplicaSet{Client: m.Client})
			c.Watch(m.Informer(&appsv1.ReplicaSet{}), mini.EnqueueObject)
			c.Watch(m.Informer(&corev1.Pod{}), mini.EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind()))
			m.AddController(c)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- m.Run(ctx) }()
			users := &mini.Client{Cluster: ofUsers}
			require.NoError(t, users.Create(ctx, replicaSetOf(3)))
			time.Sleep(time.Hour)
			pods, err := mini.List[*corev1.Pod](ctx, users, mini.Selection{})
			require.NoError(t, err)
			end = fmt.Sprint(len(pods), " Pods")
			stop()
			require.NoError(t, <-ended)
		})
		return end
	}
}

func replicaSetOf(replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

// Chapter 12's controller has no memory, so no bad day can do it harm for long.
func TestTheFirstReplicaSetSurvivesItsBadDays(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 15
	}
	require.Nil(t, mini.Play(seeds, replicaSetDay(t)))
}

// forgetful is a program without goroutines: it does each step until it succeeds.
func forgetful(w *world, faults *mini.Faults) {
	c := w.faulty(faults)
	for n := range 20 {
		obj := configMap(fmt.Sprint("c", n), "")
		for err := errors.New("not yet"); err != nil && !apierrors.IsAlreadyExists(err); {
			err = c.Create(w.ctx, obj.DeepCopy())
		}
		for err := errors.New("not yet"); err != nil; {
			err = c.Update(w.ctx, obj.DeepCopy())
		}
	}
}

// A failing seed that can't be played again helps as little as a flaky test.
func TestTheSameSeedTellsTheSameStory(t *testing.T) {
	tell := func(seed uint64) (story []mini.Injected) {
		inMemory(t, func(w *world) {
			faults := &mini.Faults{Choose: mini.Seed(seed)}
			forgetful(w, faults)
			story = faults.Story()
		})
		return story
	}
	for seed := range uint64(5) {
		story := tell(seed)
		require.NotEmpty(t, story)
		require.Equal(t, story, tell(seed))
	}
}

// The story that Play returns can be played again, with one fault or without.
func TestOnlyHasTheFaultsOfAStory(t *testing.T) {
	story := []mini.Injected{injected("PUT", "/a", 2, mini.Conflict), injected("WATCH", "/a", 1, mini.Expired)}
	choose := mini.Only(story)
	require.Equal(t, mini.Conflict, choose(mini.Call{Verb: "PUT", Path: "/a", Try: 2}))
	require.Equal(t, mini.Expired, choose(mini.Call{Verb: "WATCH", Path: "/a", Try: 1}))
	require.Equal(t, mini.NoFault, choose(mini.Call{Verb: "PUT", Path: "/a", Try: 1}))
	require.Equal(t, mini.NoFault, choose(mini.Call{Verb: "PUT", Path: "/b", Try: 2}))
}
