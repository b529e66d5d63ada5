package recorder

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// older is what kubectl shows of the core group's Events: type, reason, object, message and count.
func (w *world) older(namespace string) (lines []string) {
	w.Helper()
	synctest.Wait()
	list, err := w.client.CoreV1().Events(namespace).List(w.Context(), metav1.ListOptions{})
	require.NoError(w, err)
	for _, e := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %s %s %s x%d", e.Type, e.Reason,
			e.InvolvedObject.Name, e.Message, e.Count))
	}
	return lines
}

func (w *world) olderRequests() (verbs []string) {
	synctest.Wait()
	for _, r := range w.server.Requests(fakeapi.Match{}) {
		if r.Group == "" && r.Resource == "events" && r.Verb != "list" {
			verbs = append(verbs, r.Verb)
		}
	}
	w.server.ForgetRequests()
	return verbs
}

// The role that kubebuilder generates allows events of the core group, and no others. An operator
// that is moved here would report nothing any more.
func TestTheOlderMethodsWriteEventsOfTheCoreGroup(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorderFor("websites")
		r.Event(pod("a"), "Normal", "Created", "100%")
		r.Eventf(pod("a"), "Warning", "Failed", "try %d", 1)
		r.Eventf(pod("a"), "Warning", "Failed", "try %d", 2)
		r.AnnotatedEventf(pod("b"), map[string]string{"run": "7"}, "Warning", "Failed", "try %d", 3)
		require.Equal(t, []string{"Normal Created a 100% x1", "Warning Failed a try 1 x1",
			"Warning Failed a try 2 x1", "Warning Failed b try 3 x1"}, w.older("default"))
		require.Empty(t, w.requests(), "nothing is sent to events.k8s.io")
	})
}

func TestAnEventOfTheCoreGroupHasWhatTheOriginalWrites(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorderFor("web sites, of any name")
		r.AnnotatedEventf(pod("a"), map[string]string{"run": "7"}, "Normal", "Scaled", "now %s",
			strings.Repeat("x", 2*noteLimit))
		require.Empty(t, w.logged(), "the core group takes any name")
		first := metav1.NewTime(time.Now()).Rfc3339Copy()
		synctest.Wait()
		time.Sleep(time.Minute)
		r.AnnotatedEventf(pod("a"), map[string]string{"run": "8"}, "Normal", "Scaled", "now %s",
			strings.Repeat("x", 2*noteLimit))
		last := metav1.NewTime(time.Now()).Rfc3339Copy()
		synctest.Wait()

		list, err := w.client.CoreV1().Events("default").List(w.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		e := list.Items[0]
		require.True(t, strings.HasPrefix(e.Name, "a."), e.Name)
		require.True(t, first.Equal(&e.FirstTimestamp), e.FirstTimestamp)
		require.True(t, last.Equal(&e.LastTimestamp), e.LastTimestamp)
		e.ObjectMeta = metav1.ObjectMeta{Annotations: e.Annotations}
		e.FirstTimestamp, e.LastTimestamp = metav1.Time{}, metav1.Time{}
		require.Equal(t, corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"run": "7"}},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod",
				Namespace: "default", Name: "a", UID: "1"},
			Type:                "Normal",
			Reason:              "Scaled",
			Message:             "now " + strings.Repeat("x", 2*noteLimit),
			Count:               2,
			Source:              corev1.EventSource{Component: "web sites, of any name"},
			ReportingController: "web sites, of any name",
		}, e)
	})
}

// Someone who watches kubectl describe sees each of the first 25 occurrences, as ever. A controller
// that fails all the time must not keep the API server busy all the same.
func TestACountOfTheCoreGroupIsWrittenAtOnceAndAtIntervalsInTheEnd(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorderFor("websites")
		for n := range 25 {
			r.Event(pod("a"), "Warning", "Failed", "no room")
			require.Equal(t, []string{fmt.Sprintf("Warning Failed a no room x%d", n+1)},
				w.older("default"))
		}
		require.Len(t, w.olderRequests(), 25)
		for range 100 {
			r.Event(pod("a"), "Warning", "Failed", "no room")
			time.Sleep(time.Second)
		}
		require.Empty(t, w.olderRequests())
		time.Sleep(refreshEvery)
		require.Equal(t, []string{"Warning Failed a no room x125"}, w.older("default"))
		require.Equal(t, []string{"patch"}, w.olderRequests())
	})
}

// "x2 over 3h" says that it happens now and then. Two Events that say the same would not.
func TestAnEventOfTheCoreGroupIsCountedOnAfterALongPause(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorderFor("websites")
		r.Event(pod("a"), "Warning", "Failed", "no room")
		time.Sleep(3 * time.Hour)
		r.Event(pod("a"), "Warning", "Failed", "no room")
		require.Equal(t, []string{"Warning Failed a no room x2"}, w.older("default"))
		require.NoError(t, w.client.CoreV1().Events("default").DeleteCollection(w.Context(),
			metav1.DeleteOptions{}, metav1.ListOptions{}))
		r.Event(pod("a"), "Warning", "Failed", "no room")
		require.Equal(t, []string{"Warning Failed a no room x3"}, w.older("default"),
			"the server forgets events after an hour")
	})
}

// A message with a time in it is another one each time. They would fill etcd, and kubectl describe.
func TestSimilarEventsOfTheCoreGroupAreCombinedAndTheNewestIsShown(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorderFor("websites")
		for n := range maxNotes + 3 {
			r.Eventf(pod("a"), "Warning", "Failed", "try %d", n)
			synctest.Wait()
		}
		shown := w.older("default")
		require.Len(t, shown, maxNotes+1)
		require.Contains(t, shown,
			fmt.Sprintf("Warning Failed a (combined from similar events): try %d x3", maxNotes+2))

		time.Sleep(endsAfter + 1)
		r.Event(pod("a"), "Warning", "Failed", "much later")
		require.Contains(t, w.older("default"), "Warning Failed a much later x1",
			"what is long ago does not make it one of too many")
	})
}

// Without the log line nobody knows what the role lacks; and with one for each event nobody finds
// anything else.
func TestAMissingPermissionIsLoggedOnceWithTheRule(t *testing.T) {
	forbidden := metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden,
		Message: "you may not"}
	inWorld(t, Options{}, func(w *world) {
		refuse := func() (allow func()) {
			return w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "events",
				Verb: "create"}, Status: &forbidden})
		}
		allow := refuse()
		lost := lostFor(t, lostRefused)
		for n := range 10 {
			w.GetEventRecorderFor("websites").Event(pod(fmt.Sprint(n)), "Warning", "Failed",
				"no room")
			w.GetEventRecorder("websites").Eventf(pod(fmt.Sprint(n)), nil, "Warning", "Failed",
				"Create", "no room")
		}
		elsewhere := pod("a")
		elsewhere.Namespace = "kube-system"
		w.GetEventRecorderFor("websites").Event(elsewhere, "Warning", "Failed", "no room")
		synctest.Wait()
		require.Equal(t, lost+21, lostFor(t, lostRefused), "all of them are counted")
		require.Equal(t, 3, strings.Count(w.logged(), "you may not"), w.logged())
		for _, rule := range []string{
			`apiGroups [\"\"], resources [events], verbs [create, patch], namespace default`,
			`apiGroups [events.k8s.io], resources [events], verbs [create, patch], namespace default`,
			`apiGroups [\"\"], resources [events], verbs [create, patch], namespace kube-system`,
		} {
			require.Contains(t, w.logged(), rule)
		}
		allow()
		w.GetEventRecorderFor("websites").Event(elsewhere, "Normal", "Made", "there is room")
		synctest.Wait()
		refuse()
		w.GetEventRecorderFor("websites").Event(elsewhere, "Warning", "Failed", "no room again")
		synctest.Wait()
		require.Equal(t, 4, strings.Count(w.logged(), "you may not"),
			"a right that is taken away again")
	})
}

// A controller that fails in many ways must not keep the API server busy, and client-go's recorder
// lets it write 25 times about an object and then once in 5 minutes. What client-go throws away may
// be that the user's change was refused, so here it comes later.
func TestEventsOfTheCoreGroupAboutOneObjectShareTheirWritesAndNoneIsLost(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		r := w.GetEventRecorderFor("websites")
		for n := range 60 {
			r.Event(pod("a"), "Warning", fmt.Sprint("Failed", n%3), "no room")
			synctest.Wait()
		}
		require.Len(t, w.olderRequests(), 25)
		r.Event(pod("a"), "Warning", "Paused", "as you wanted")
		time.Sleep(refreshEvery - time.Second)
		require.Empty(t, w.olderRequests())

		r.Event(pod("a"), "Normal", "Scaled", "to 0")
		r.Event(pod("b"), "Warning", "Failed0", "no room")
		require.Len(t, w.older("default"), 5, "a normal event, and one about another object")
		require.Len(t, w.olderRequests(), 2)

		time.Sleep(time.Second)
		for range 4 {
			require.Len(t, w.olderRequests(), 1)
			time.Sleep(refreshEvery)
		}
		require.Empty(t, w.olderRequests(), "and then nothing is left to say")
		require.Equal(t, []string{
			"Warning Failed0 a no room x20", "Warning Failed1 a no room x20",
			"Warning Failed2 a no room x20", "Warning Paused a as you wanted x1",
			"Normal Scaled a to 0 x1", "Warning Failed0 b no room x1",
		}, w.older("default"))
	})
}

// Who is quiet for long has earned 25 again, and what is forgotten leaves nothing behind.
func TestABudgetFillsUpAndEndsWithItsSeries(t *testing.T) {
	p := playing(t)
	tell := func(name, reason string) (written int) {
		event := occurrence(name, "n")
		event.Reason = reason
		p.correlator.observe(olderAPI, event, p.now)
		return p.writeAll()
	}
	writes := func() (n int) {
		for range 40 {
			n += tell("a", "Failed")
		}
		return n
	}
	require.Equal(t, 25, writes())
	p.pass(25 * refreshEvery)
	require.Equal(t, 1, p.writeAll(), "what was counted")
	require.Equal(t, 24, writes())
	require.Equal(t, 1, tell("b", "Failed"))
	require.Len(t, p.budgets, 2)

	p.pass(25 * refreshEvery)
	p.writeAll()
	for n := range maxSeries {
		tell(fmt.Sprint(n), "Other")
	}
	require.Len(t, p.all, maxSeries)
	require.Len(t, p.budgets, maxSeries, "neither a's nor b's")
}
