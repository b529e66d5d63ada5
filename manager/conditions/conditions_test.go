package conditions

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// In a synctest bubble, time begins at midnight of this day, and passes when everybody sleeps.
var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(midnight.Add(time.Duration(seconds) * time.Second))
}

func object(generation int64) *metav1.ObjectMeta { return &metav1.ObjectMeta{Generation: generation} }

func condition(of string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason}
}

// An alert says "not ready for 10 minutes". It would never fire if each look were a transition.
func TestTheTimeOfTheTransitionStaysAsLongAsTheStatusDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []metav1.Condition
		since := func() time.Duration { return list[0].LastTransitionTime.Sub(midnight) }
		require.True(t, Set(object(1), &list,
			condition("Ready", metav1.ConditionFalse, "Starting")))
		require.Zero(t, since())

		time.Sleep(5 * time.Second)
		require.True(t, Set(object(1), &list, condition("Ready", metav1.ConditionFalse, "NoImage")),
			"the reason is new")
		require.Equal(t, "NoImage", list[0].Reason)
		require.Zero(t, since(), "a new reason is no transition")

		time.Sleep(5 * time.Second)
		require.True(t, Set(object(2), &list, condition("Ready", metav1.ConditionFalse, "NoImage")),
			"the generation is new")
		require.Zero(t, since(), "a new generation is no transition")

		time.Sleep(5*time.Second + time.Millisecond)
		require.True(t, Set(object(2), &list, condition("Ready", metav1.ConditionTrue, "Running")))
		require.Equal(t, 15*time.Second, since(),
			"the API server stores whole seconds: with more, the object would not be what was "+
				"written")
	})
}

// A controller that writes what is there already is woken by its own write, and never rests.
func TestTheSameObservationChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []metav1.Condition
		for _, seen := range []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Running"),
			{Type: "Published", Status: metav1.ConditionFalse, Reason: "Down",
				Message: "no answer"}} {
			require.True(t, Set(object(3), &list, seen))
			time.Sleep(time.Minute)
			before := slices.Clone(list)
			require.False(t, Set(object(3), &list, seen))
			require.Equal(t, before, list)
		}
		require.Len(t, list, 2, "each type has one condition")
	})
}

// A user waits for Ready after a change of the spec, and sees the answer for the spec before.
func TestAConditionAboutAnOlderSpecIsNotTrue(t *testing.T) {
	var list []metav1.Condition
	Set(object(4), &list, condition("Ready", metav1.ConditionTrue, "Running"))
	require.EqualValues(t, 4, list[0].ObservedGeneration)
	require.True(t, IsTrue(object(4), list, "Ready"))
	require.False(t, IsTrue(object(5), list, "Ready"))
	require.False(t, IsTrue(object(4), list, "Published"), "there is none")
	Set(object(4), &list, condition("Ready", metav1.ConditionUnknown, "NoAnswer"))
	require.False(t, IsTrue(object(4), list, "Ready"))
}

// An observation may be older than the look: of a probe, for instance.
func TestTheCallerMayKnowTheTimeOfTheTransition(t *testing.T) {
	seen := condition("Ready", metav1.ConditionTrue, "Running")
	seen.LastTransitionTime = at(7)
	var list []metav1.Condition
	Set(object(1), &list, seen)
	require.Equal(t, at(7).Unix(), list[0].LastTransitionTime.Unix())
	seen.LastTransitionTime = at(9)
	require.False(t, Set(object(1), &list, seen), "there was no transition")
	seen.Status = metav1.ConditionFalse
	require.True(t, Set(object(1), &list, seen))
	require.Equal(t, at(9).Unix(), list[0].LastTransitionTime.Unix())
}

// A condition without a time is not valid, and the server would refuse every write.
func TestAMissingTimeIsFilledIn(t *testing.T) {
	list := []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Running")}
	require.True(t, Set(object(0), &list, condition("Ready", metav1.ConditionTrue, "Running")))
	require.False(t, list[0].LastTransitionTime.IsZero())
}

// A copy of a cached object may share the list. All its readers would see what was not written.
func TestTheListThatAnotherObjectSharesIsNotChanged(t *testing.T) {
	shared := append(make([]metav1.Condition, 0, 9),
		condition("Ready", metav1.ConditionTrue, "Running"),
		condition("Published", metav1.ConditionTrue, "Done"))
	before := slices.Clone(shared[:3])
	for _, change := range []func(list *[]metav1.Condition) bool{
		func(list *[]metav1.Condition) bool {
			return Set(object(1), list, condition("Ready", metav1.ConditionFalse, "Gone"))
		},
		func(list *[]metav1.Condition) bool {
			return Set(object(1), list, condition("Stalled", metav1.ConditionFalse, "Gone"))
		},
		func(list *[]metav1.Condition) bool { return Remove(list, "Ready") },
	} {
		list := shared
		require.True(t, change(&list))
		require.NotEqual(t, shared, list)
		require.Equal(t, before, shared[:3])
	}
}

// A condition that has no meaning any more would stay forever.
func TestAConditionCanBeRemoved(t *testing.T) {
	list := []metav1.Condition{condition("A", "True", "R"), condition("B", "True", "R"),
		condition("C", "True", "R")}
	require.True(t, Remove(&list, "B"))
	require.False(t, Remove(&list, "B"))
	require.Equal(t, []metav1.Condition{condition("A", "True", "R"), condition("C", "True", "R")},
		list)
	_, found := Get(list, "B")
	require.False(t, found)
	c, found := Get(list, "C")
	require.True(t, found)
	require.Equal(t, "C", c.Type)
}

var ready = Summary{Type: "Ready", Good: []string{"Published", "Running"}, Bad: []string{"Stalled"}}

// is is a condition about generation 2, with a message.
func is(of string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: of + "Reason", Message: "about " + of,
		ObservedGeneration: 2}
}

func old(c metav1.Condition) metav1.Condition {
	c.ObservedGeneration = 1
	return c
}

// `kubectl wait --for=condition=Ready` would end too early, or never.
func TestTheSummaryIsTrueIfAllIsWellAndNotBefore(t *testing.T) {
	const yes, no, unclear = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for _, c := range []struct {
		name    string
		list    []metav1.Condition
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"nobody has looked", nil, unclear, "NotObserved",
			"Published: nobody has looked yet; Running: nobody has looked yet"},
		{"one is missing", []metav1.Condition{is("Published", yes)}, unclear, "NotObserved",
			"Running: nobody has looked yet"},
		{"all is well", []metav1.Condition{is("Running", yes), is("Published", yes)}, yes,
			"AllFine", ""},
		{"all is well, and nothing stalls",
			[]metav1.Condition{is("Running", yes), is("Published", yes), is("Stalled", no)}, yes,
			"AllFine", ""},
		{"something stalls", []metav1.Condition{is("Running", yes), is("Published", yes),
			is("Stalled", yes)}, no, "StalledReason", "Stalled: about Stalled"},
		{"one is false", []metav1.Condition{is("Running", no), is("Published", yes)}, no,
			"RunningReason", "Running: about Running"},
		{"both are false", []metav1.Condition{is("Running", no), is("Published", no)}, no,
			"PublishedReason", "Published: about Published; Running: about Running"},
		{"false is worse than unknown",
			[]metav1.Condition{is("Published", unclear), is("Running", no)}, no, "RunningReason",
			"Running: about Running"},
		{"stalled is worse than false",
			[]metav1.Condition{is("Published", no), is("Running", yes), is("Stalled", yes)}, no,
			"StalledReason", "Stalled: about Stalled; Published: about Published"},
		{"one is unknown", []metav1.Condition{is("Published", unclear), is("Running", yes)},
			unclear, "PublishedReason", "Published: about Published"},
		{"it is not known whether it stalls",
			[]metav1.Condition{is("Published", yes), is("Running", yes), is("Stalled", unclear)},
			unclear, "StalledReason", "Stalled: about Stalled"},
		{"one is about an older spec",
			[]metav1.Condition{old(is("Published", yes)), is("Running", yes)}, unclear,
			"PublishedReason", "Published: about Published"},
		{"a false one is about an older spec",
			[]metav1.Condition{old(is("Published", no)), is("Running", yes)}, unclear,
			"PublishedReason", "Published: about Published"},
		{"others do not count", []metav1.Condition{is("Running", yes), is("Published", yes),
			is("Painted", no)}, yes, "AllFine", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, metav1.Condition{Type: "Ready", Status: c.status, Reason: c.reason,
				Message: c.message}, ready.Of(object(2), c.list))
		})
	}
}

// A condition without a message has a reason, and the summary must not say nothing.
func TestTheSummaryNamesTheReasonIfThereIsNoMessage(t *testing.T) {
	c := is("Stalled", metav1.ConditionTrue)
	c.Message = ""
	require.Equal(t, "Stalled: StalledReason",
		Summary{Type: "Ready", Bad: []string{"Stalled"}}.Of(object(2),
			[]metav1.Condition{c}).Message)
}
