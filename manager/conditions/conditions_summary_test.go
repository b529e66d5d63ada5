package conditions

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var ready = Summary{Type: "Ready", Good: []string{"Published", "Running"}, Bad: []string{"Stalled"}}

// is is a condition about generation 2, with a message.
func is(of string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: of + "Reason", Message: "about " + of, ObservedGeneration: 2}
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
		{"nobody has looked", nil, unclear, "NotObserved", "Published: nobody has looked yet; Running: nobody has looked yet"},
		{"one is missing", []metav1.Condition{is("Published", yes)}, unclear, "NotObserved", "Running: nobody has looked yet"},
		{"all is well", []metav1.Condition{is("Running", yes), is("Published", yes)}, yes, "AllFine", ""},
		{"all is well, and nothing stalls", []metav1.Condition{is("Running", yes), is("Published", yes), is("Stalled", no)}, yes, "AllFine", ""},
		{"something stalls", []metav1.Condition{is("Running", yes), is("Published", yes), is("Stalled", yes)}, no, "StalledReason", "Stalled: about Stalled"},
		{"one is false", []metav1.Condition{is("Running", no), is("Published", yes)}, no, "RunningReason", "Running: about Running"},
		{"both are false", []metav1.Condition{is("Running", no), is("Published", no)}, no, "PublishedReason", "Published: about Published; Running: about Running"},
		{"false is worse than unknown", []metav1.Condition{is("Published", unclear), is("Running", no)}, no, "RunningReason", "Running: about Running"},
		{"stalled is worse than false", []metav1.Condition{is("Published", no), is("Running", yes), is("Stalled", yes)}, no, "StalledReason", "Stalled: about Stalled; Published: about Published"},
		{"one is unknown", []metav1.Condition{is("Published", unclear), is("Running", yes)}, unclear, "PublishedReason", "Published: about Published"},
		{"it is not known whether it stalls", []metav1.Condition{is("Published", yes), is("Running", yes), is("Stalled", unclear)}, unclear, "StalledReason", "Stalled: about Stalled"},
		{"one is about an older spec", []metav1.Condition{old(is("Published", yes)), is("Running", yes)}, unclear, "PublishedReason", "Published: about Published"},
		{"a false one is about an older spec", []metav1.Condition{old(is("Published", no)), is("Running", yes)}, unclear, "PublishedReason", "Published: about Published"},
		{"others do not count", []metav1.Condition{is("Running", yes), is("Published", yes), is("Painted", no)}, yes, "AllFine", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, metav1.Condition{Type: "Ready", Status: c.status, Reason: c.reason, Message: c.message}, ready.Of(object(2), c.list))
		})
	}
}

// A condition without a message has a reason, and the summary must not say nothing.
func TestTheSummaryNamesTheReasonIfThereIsNoMessage(t *testing.T) {
	c := is("Stalled", metav1.ConditionTrue)
	c.Message = ""
	require.Equal(t, "Stalled: StalledReason", Summary{Type: "Ready", Bad: []string{"Stalled"}}.Of(object(2), []metav1.Condition{c}).Message)
}
