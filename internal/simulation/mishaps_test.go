package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/trace"
)

// A mishap that does nothing makes a thousand days easy, and no one notices. These tests play each of them
// on a process that only watches, and writes down what it sees.

// witness is what processes have seen of the ConfigMap c.
type witness struct {
	mu        sync.Mutex // guards the rest
	processes int
	sightings []sighting
}

type sighting struct {
	process int
	at      time.Time
	by      string // list, watch, or a write that it did
	value   string
}

// process lists and watches, and creates the ConfigMap made once it sees the value "go".
func (s *witness) process(
	connection *rest.Config, _ *trace.Recorder,
) (run func(context.Context) error, err error) {
	c, err := client.NewWithWatch(connection, client.Options{Mapper: usersMapper()})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes++
	number := s.processes
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			s.look(ctx, c, number)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		return nil
	}, nil
}

func (s *witness) look(ctx context.Context, c client.WithWatch, number int) {
	var list corev1.ConfigMapList
	if err := c.List(ctx, &list, client.InNamespace("default")); err != nil {
		return
	}
	for i := range list.Items {
		s.saw(ctx, c, number, "list", &list.Items[i])
	}
	watching, err := c.Watch(ctx, &corev1.ConfigMapList{}, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion},
	})
	if err != nil {
		return
	}
	defer watching.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-watching.ResultChan():
			object, is := e.Object.(*corev1.ConfigMap)
			if !open || !is || e.Type == watch.Error {
				return
			}
			s.saw(ctx, c, number, "watch", object)
		}
	}
}

func (s *witness) saw(
	ctx context.Context, c client.Client, number int, by string, object *corev1.ConfigMap,
) {
	if object.Name != "c" {
		return
	}
	s.note(sighting{number, time.Now(), by, object.Data["is"]})
	if object.Data["is"] == "go" && c.Create(ctx, named("made")) == nil {
		s.note(sighting{number, time.Now(), "create", "made"})
	}
}

func (s *witness) note(one sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sightings = append(s.sightings, one)
}

// values are those that processes have seen since some time.
func (s *witness) values(since time.Time, by ...string) (values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sightings {
		if !one.at.Before(since) && (len(by) == 0 || slices.Contains(by, one.by)) {
			values = append(values, one.value)
		}
	}
	return values
}

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// watched runs a test in a wild World with a witness, which has seen the value 0.
func watched(t *testing.T, test func(t *testing.T, w *World, s *witness, is func(string))) {
	synctest.Test(t, func(t *testing.T) {
		s := &witness{}
		w := NewDirect(t, s.process)
		w.wild = true
		object := named("c")
		w.Create(object)
		is := func(value string) {
			Edit(w, object, func(c *corev1.ConfigMap) { c.Data = map[string]string{"is": value} })
		}
		is("0")
		w.Start()
		time.Sleep(time.Second)
		require.Equal(t, []string{"0"}, s.values(time.Time{}))
		test(t, w, s, is)
		w.finish(func(*begun) bool { return true })
		w.End()
	})
}

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestStaleViewsArriveLateAndOneAfterTheOther(t *testing.T) {
	watched(t, func(t *testing.T, w *World, s *witness, is func(string)) {
		begun := time.Now()
		w.begin(lagging(random()), 1)
		is("1")
		is("2")
		time.Sleep(4 * time.Second) // it lasts for at least five
		require.Empty(t, s.values(begun))
		time.Sleep(90 * time.Second)
		require.Equal(t, []string{"1", "2"}, s.values(begun))
	})
}

func TestMissedStatesAreNeverSeen(t *testing.T) {
	watched(t, func(t *testing.T, w *World, s *witness, is func(string)) {
		begun := time.Now()
		w.begin(skipping(random()), 1)
		is("1")
		is("2")
		time.Sleep(90 * time.Second)
		values := s.values(begun)
		require.NotContains(t, values, "1")
		require.Contains(t, values, "2")
	})
}

func TestTimeTravelShowsANewProcessAnOldList(t *testing.T) {
	watched(t, func(t *testing.T, w *World, s *witness, is func(string)) {
		for n := range 20 {
			is(fmt.Sprint("before ", n))
		}
		time.Sleep(time.Second)
		begun := time.Now()
		w.begin(travelling(random()), 1)
		values := s.values(begun)
		require.NotEqual(t, "before 19", values[0], "the list is new")
		require.Equal(t, 2, s.processes)
		time.Sleep(time.Minute)
		values = s.values(begun)
		require.Equal(t, "before 19", values[len(values)-1], "the watch catches up")
	})
}

func TestTwoProcessesAreThereAtOnceForAWhile(t *testing.T) {
	watched(t, func(t *testing.T, w *World, s *witness, is func(string)) {
		w.begin(doubled(random()), 1)
		synctest.Wait()
		begun := time.Now()
		is("1")
		synctest.Wait()
		require.Equal(t, []string{"1", "1"}, s.values(begun, "watch"))
		time.Sleep(time.Minute + time.Second)
		begun = time.Now()
		is("2")
		synctest.Wait()
		require.Equal(t, []string{"2"}, s.values(begun, "watch"))
	})
}

func TestACrashComesAfterTheWriteAndBeforeItsAnswer(t *testing.T) {
	watched(t, func(t *testing.T, w *World, s *witness, is func(string)) {
		begun := time.Now()
		w.begin(Mishap{Name: "crash", Begin: func(w *World) func() {
			return w.crashAfter(fakeapi.Match{Verb: "create", Resource: "configmaps"}, 0, 1)
		}}, 1)
		is("go")
		synctest.Wait()
		w.Read(named("made"))
		require.Equal(t, []string{"go"}, s.values(begun), "the process doesn't hear of its write")
		is("dead")
		time.Sleep(lease - time.Second)
		require.NotContains(t, s.values(begun), "dead")
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"go", "dead"}, s.values(begun))
		require.Equal(t, 2, s.processes)
	})
}

// Requests that a dead process still sends would be those of a second one.
func TestADeadProcessWritesNothing(t *testing.T) {
	watched(t, func(t *testing.T, w *World, _ *witness, _ func(string)) {
		connection, kill := w.Connect("other")
		c, err := client.New(connection, client.Options{Mapper: usersMapper()})
		require.NoError(t, err)
		require.NoError(t, c.Create(t.Context(), named("before")))
		kill()
		require.Error(t, c.Create(t.Context(), named("after")))
		err = w.Live.Get(t.Context(), client.ObjectKeyFromObject(named("after")), named("after"))
		require.True(t, apierrors.IsNotFound(err))
	})
}

func TestClocksOfKubeletsJumpAndComeBack(t *testing.T) {
	watched(t, func(t *testing.T, w *World, _ *witness, _ func(string)) {
		w.begin(skewed(random()), 1)
		require.NotEqual(t, time.Now(), w.kubeletsNow())
		w.finish(func(*begun) bool { return true })
		require.Equal(t, time.Now(), w.kubeletsNow())
	})
}

func TestAfterACompactionNoWatchGoesOnFromBefore(t *testing.T) {
	watched(t, func(t *testing.T, w *World, s *witness, is func(string)) {
		var list corev1.ConfigMapList
		require.NoError(t, w.Live.List(t.Context(), &list))
		is("1")
		w.begin(compacted(), 1)
		is("2")
		watching, err := w.Live.Watch(t.Context(), &corev1.ConfigMapList{}, &client.ListOptions{
			Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion},
		})
		if err == nil {
			e := <-watching.ResultChan()
			require.Equal(t, watch.Error, e.Type)
			err = apierrors.FromObject(e.Object)
			watching.Stop()
		}
		require.True(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "%v", err)
	})
}

// Each mishap of requests says whether the server carries them out: the worst is the write of which its
// sender doesn't know.
func TestMishapsOfRequestsCarryThemOutOrDoNot(t *testing.T) {
	expected := map[string]struct {
		fails, happens bool
	}{
		"refused": {true, false}, "answer lost": {true, true}, "conflict": {false, true},
		"too many requests": {true, false}, "unavailable": {true, false}, "slow": {false, true},
	}
	all := OfRequests(random(), 1)
	require.Len(t, all, len(expected))
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			fails, happens := created(t, m)
			require.Equal(t, expected[m.Name].fails, fails)
			require.Equal(t, expected[m.Name].happens, happens)
			require.Equal(t, m.Name == "answer lost", m.LosesAnswers())
		})
	}
}

// created begins a mishap, and lets a process create an object.
func created(t *testing.T, m Mishap) (fails, happens bool) {
	watched(t, func(t *testing.T, w *World, _ *witness, _ func(string)) {
		connection, _ := w.Connect("other")
		c, err := client.New(connection, client.Options{Mapper: usersMapper()})
		require.NoError(t, err)
		w.begin(m, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		fails = c.Create(ctx, named("new")) != nil
		happens = w.Live.Get(t.Context(), client.ObjectKeyFromObject(named("new")), named("new")) == nil
	})
	return fails, happens
}

func TestAConflictHitsUpdatesAndPatches(t *testing.T) {
	conflict := OfRequests(random(), 1)[2]
	watched(t, func(t *testing.T, w *World, _ *witness, _ func(string)) {
		connection, _ := w.Connect("other")
		c, err := client.New(connection, client.Options{Mapper: usersMapper()})
		require.NoError(t, err)
		w.begin(conflict, 1)
		object := named("c")
		w.Read(object)
		require.True(t, apierrors.IsConflict(c.Update(t.Context(), object)))
		require.True(t, apierrors.IsConflict(c.Patch(t.Context(), object,
			client.RawPatch("application/merge-patch+json", []byte(`{"data":{"is":"1"}}`)))))
	})
}

// A proxy's answer is never that of the API server, and sometimes the server has carried the request out
// all the same.
func TestAProxyAnswersInTheServersPlace(t *testing.T) {
	carried, refused := 0, 0
	r := random()
	for range 40 {
		m := Answering(r, hostile.Create)
		fails, happens := created(t, m)
		require.False(t, fails && happens && !m.LosesAnswers(), "%s loses an answer", m)
		require.False(t, !fails && !happens, "%s: a write that isn't there has an answer", m)
		if happens {
			carried++
		} else {
			refused++
		}
	}
	require.Positive(t, carried)
	require.Positive(t, refused)
}

// Whoever gets a Status that says 403 believes it. If the request was carried out all the same, some
// promises can't be kept. Nothing else that a proxy may say is an excuse.
func TestOnlyARefusalOfWhatWasDoneIsAnExcuse(t *testing.T) {
	bent := map[string]bool{}
	r := random()
	for range 2000 {
		m := Answering(r, hostile.Create, hostile.Status, hostile.List)
		bent[m.Name] = len(m.Bends) > 0
	}
	for name, want := range map[string]bool{
		"wrong answer: a proxy's forbidden403 to a create, which the server has carried out":    true,
		"wrong answer: a proxy's unauthorized401 to a create, which the server has carried out": true,
		"wrong answer: a proxy's forbidden403 to a create":                                      false,
		"wrong answer: a proxy's html403 to a create, which the server has carried out":         false,
		"wrong answer: a proxy's busy429 to a create, which the server has carried out":         false,
		// Nobody counts on a status.
		"wrong answer: a proxy's forbidden403 to a status, which the server has carried out": false,
		"wrong answer: a proxy's forbidden403 to a list":                                     false,
	} {
		is, played := bent[name]
		require.True(t, played, name)
		require.Equal(t, want, is, name)
	}
}

// A controller can't act on what a silent watch doesn't show. It notices when the watch should have ended, so nobody may be judged
// before that.
func TestADayRestsUntilASilentWatchHasEnded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	silent := map[bool]int{}
	for range 300 {
		op := []hostile.Op{hostile.Watch, hostile.List, hostile.Update}[random.IntN(3)]
		m := Answering(random, op)
		is := op == hostile.Watch && strings.Contains(m.Name, "a proxy's silent")
		silent[is]++
		judged(t, func(w *World) {
			w.restFor = time.Minute
			w.begin(m, 0)
			w.finish(func(*begun) bool { return true })
			began := time.Now()
			w.rest()
			require.Equal(t, map[bool]time.Duration{false: time.Minute, true: 22 * time.Minute}[is], time.Since(began), m.Name)
		}, func(history) {})
	}
	require.Positive(t, silent[true])
}

// Each of two processes that don't see the same may undo what the other one writes, for as long as both
// are there. One that's alone, and never stops writing, has no excuse.
func TestWritesOfTwoProcessesAtOnceAreNotEndless(t *testing.T) {
	for _, two := range []bool{false, true} {
		watched(t, func(t *testing.T, w *World, _ *witness, _ func(string)) {
			w.tellWrites()
			if two {
				w.beside.Add(1)
			}
			connection, _ := w.Connect("other")
			controllers, err := client.New(connection, client.Options{Mapper: usersMapper()})
			require.NoError(t, err)
			object := named("written")
			require.NoError(t, controllers.Create(t.Context(), object))
			for n := range mostWrites {
				object.Data = map[string]string{"is": fmt.Sprint(n)}
				require.NoError(t, controllers.Update(t.Context(), object))
			}
			require.Equal(t, !two, slices.ContainsFunc(w.broken, func(b Broken) bool {
				return b.Promise == Quiet
			}))
		})
	}
}
