package predicate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/trace"
)

func isMine(event.CreateEvent) bool { return false }

// Without the name of the predicate, somebody who asks why an object was not reconciled has to
// try all of them.
func TestTheRecorderLearnsWhichPredicateDroppedAnEvent(t *testing.T) {
	selector, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}})
	require.NoError(t, err)
	yes, no := always(true), always(false)
	for _, c := range []struct {
		name       string
		predicates []predicate.Predicate
		want       string // what it is called, for a create
	}{
		{"the only one", []predicate.Predicate{no}, "predicate_test.answers"},
		{"a pointer to it", []predicate.Predicate{&no}, "predicate_test.answers"},
		{"the second", []predicate.Predicate{yes, selector}, "LabelSelectorPredicate(app=db)"},
		{"a function", []predicate.Predicate{predicate.Funcs{CreateFunc: isMine}}, "predicate_test.isMine"},
		{"one inside an And", []predicate.Predicate{yes, predicate.And(yes, predicate.And(yes, selector)), no}, "LabelSelectorPredicate(app=db)"},
		{"an Or as a whole", []predicate.Predicate{predicate.And(yes), predicate.Or(selector, no)}, "Or(LabelSelectorPredicate(app=db), predicate_test.answers)"},
		{"none", []predicate.Predicate{yes, predicate.And(yes, yes)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := trace.New(8)
			passed := predicate.Recorded(rec, "kind source", c.predicates...).Create(event.CreateEvent{Object: with()})
			require.Equal(t, c.want == "", passed)
			got := rec.Events()
			require.Len(t, got, 1)
			want := trace.Event{Kind: trace.Predicate, Outcome: trace.Filtered, Layer: "kind source", Op: "create", Reason: c.want,
				Object: "Pod", Namespace: "shop", Name: "web-1", Version: "1"}
			if passed {
				want.Outcome = trace.Passed
			}
			want.Seq, want.At = got[0].Seq, got[0].At
			require.Equal(t, want, got[0])
		})
	}
}

func TestEachKindOfEventIsRecordedAsSuch(t *testing.T) {
	drop := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	rec := trace.New(8)
	create, updated, deleted, generic := verdicts(predicate.Recorded(rec, "s", drop), with())
	require.Equal(t, [4]bool{}, [4]bool{create, updated, deleted, generic})
	var ops []string
	for _, e := range rec.Events() {
		ops = append(ops, e.Op)
		require.True(t, strings.HasPrefix(e.Reason, "predicate_test.TestEachKindOfEventIsRecordedAsSuch.func"), "%s: %s", e.Op, e.Reason)
	}
	require.Equal(t, []string{"create", "update", "delete", "generic event"}, ops)

	var none *corev1.Pod
	predicate.Recorded(rec, "s", always(true)).Update(update(with(), none))
	last := rec.Events()[4]
	require.Empty(t, last.Object+last.Name, "an event without an object is recorded, too")

	yes := always(true)
	create, updated, deleted, generic = verdicts(predicate.Recorded(rec, "s", yes), with())
	require.Equal(t, [4]bool{true, true, true, true}, [4]bool{create, updated, deleted, generic})
	require.Equal(t, 4, *yes.asked, "a predicate is asked once")
	inner := always(true)
	verdicts(predicate.Recorded(rec, "s", predicate.And(inner)), with())
	require.Equal(t, 4, *inner.asked, "one inside an And is asked once, too")
	require.Equal(t, "And(predicate_test.answers)", nameOf(predicate.Recorded(rec, "s", yes)))
}

func TestNothingIsRecordedWithoutARecorderOrWithoutPredicates(t *testing.T) {
	rec := trace.New(8)
	require.True(t, predicate.Recorded[client.Object](rec, "s").Create(event.CreateEvent{Object: with()}))
	require.Zero(t, rec.Recorded())
	require.False(t, predicate.Recorded(nil, "s", always(true), always(false)).Create(event.CreateEvent{Object: with()}))
	require.True(t, predicate.Recorded(nil, "s", always(true)).Create(event.CreateEvent{Object: client.Object(with())}))
}

func nameOf(p predicate.Predicate) string { return p.(interface{ String() string }).String() }
