package predicate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/predicate"
)

func TestFuncsLetThroughWhatTheyHaveNoFunctionFor(t *testing.T) {
	create, update, deleted, generic := verdicts(predicate.Funcs{}, with())
	require.Equal(t, [4]bool{true, true, true, true}, [4]bool{create, update, deleted, generic})
}

// A function that is asked about another kind of event drops the wrong ones.
func TestEachFunctionIsAskedAboutItsOwnEvents(t *testing.T) {
	for i, name := range []string{"create", "update", "delete", "generic"} {
		for _, answer := range []bool{true, false} {
			f := predicate.Funcs{}
			switch i {
			case 0:
				f.CreateFunc = func(e event.CreateEvent) bool { return e.Object != nil && answer }
			case 1:
				f.UpdateFunc = func(e event.UpdateEvent) bool { return e.ObjectNew != nil && answer }
			case 2:
				f.DeleteFunc = func(e event.DeleteEvent) bool { return e.Object != nil && answer }
			case 3:
				f.GenericFunc = func(e event.GenericEvent) bool { return e.Object != nil && answer }
			}
			want := [4]bool{true, true, true, true}
			want[i] = answer
			create, update, deleted, generic := verdicts(f, with())
			require.Equal(t, want, [4]bool{create, update, deleted, generic}, "%s says %t", name, answer)
		}
	}
}

// With the old object, an object that begins to matter would go unnoticed.
func TestOneQuestionForAllEventsIsAskedAboutTheNewestState(t *testing.T) {
	mine, other := with(), with(func(p *corev1.Pod) { p.Name = "other" })
	p := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == "web-1" })
	for _, c := range []struct {
		obj  client.Object
		want bool
	}{{mine, true}, {other, false}} {
		create, update, deleted, generic := verdicts(p, c.obj)
		require.Equal(t, [4]bool{c.want, c.want, c.want, c.want}, [4]bool{create, update, deleted, generic}, c.obj.GetName())
	}
	require.True(t, p.Update(update(other, mine)))
	require.False(t, p.Update(update(mine, other)))
}

// Each predicate has to see its own change, and no other: a change that it misses is never
// reconciled.
func TestAnUpdatePassesIfItChangesWhatThePredicateLooksAt(t *testing.T) {
	type changed struct{ generation, version, labels, annotations bool }
	for _, c := range []struct {
		name    string
		was, is *corev1.Pod
		want    changed
	}{
		{"nothing", with(), with(), changed{}},
		{"the generation", with(), with(func(p *corev1.Pod) { p.Generation = 2 }), changed{generation: true}},
		{"the generation, backwards", with(func(p *corev1.Pod) { p.Generation = 2 }), with(), changed{generation: true}},
		{"the version", with(), with(func(p *corev1.Pod) { p.ResourceVersion = "2" }), changed{version: true}},
		{"a version that's no number", with(), with(func(p *corev1.Pod) { p.ResourceVersion = "b" }), changed{version: true}},
		{"the version, backwards", with(func(p *corev1.Pod) { p.ResourceVersion = "2" }), with(), changed{version: true}},
		{"a label's value", with(), with(func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} }), changed{labels: true}},
		{"one label more", with(), with(func(p *corev1.Pod) { p.Labels["tier"] = "front" }), changed{labels: true}},
		{"a label without a value for another one", with(func(p *corev1.Pod) { p.Labels = map[string]string{"app": ""} }), with(func(p *corev1.Pod) { p.Labels = map[string]string{"tier": ""} }), changed{labels: true}},
		{"no labels any more", with(), with(func(p *corev1.Pod) { p.Labels = nil }), changed{labels: true}},
		{"nil for an empty map of labels", with(func(p *corev1.Pod) { p.Labels = map[string]string{} }), with(func(p *corev1.Pod) { p.Labels = nil }), changed{}},
		{"an annotation's value", with(), with(func(p *corev1.Pod) { p.Annotations["note"] = "b" }), changed{annotations: true}},
		{"annotations that are printed alike", with(func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "1", "b": "2"} }), with(func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "1 b:2"} }), changed{annotations: true}},
		{"one annotation more", with(), with(func(p *corev1.Pod) { p.Annotations["tier"] = "front" }), changed{annotations: true}},
		{"no annotations any more", with(), with(func(p *corev1.Pod) { p.Annotations = nil }), changed{annotations: true}},
		{"the status", with(), with(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), changed{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := update(c.was, c.is)
			require.Equal(t, c.want, changed{
				generation:  predicate.GenerationChangedPredicate{}.Update(e),
				version:     predicate.ResourceVersionChangedPredicate{}.Update(e),
				labels:      predicate.LabelChangedPredicate{}.Update(e),
				annotations: predicate.AnnotationChangedPredicate{}.Update(e),
			})
		})
	}
}

var comparing = []predicate.Predicate{
	predicate.GenerationChangedPredicate{}, predicate.ResourceVersionChangedPredicate{},
	predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
}

// There is nothing to compare with, and an object that was created or deleted always matters.
func TestEventsThatAreNoUpdatesPassThosePredicates(t *testing.T) {
	for _, p := range comparing {
		create, update, deleted, generic := verdicts(p, with())
		require.Equal(t, [4]bool{true, false, true, true}, [4]bool{create, update, deleted, generic}, "%T", p)
	}
	p := predicate.LabelChangedPredicate{TypedFuncs: predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }}}
	require.False(t, p.Delete(event.DeleteEvent{Object: with()}), "the functions that it is given count")
}

// A faulty source must not end the process, and nobody must have to guess why its events are lost.
func TestAnUpdateThatLacksAnObjectIsDroppedAndLogged(t *testing.T) {
	var none *corev1.Pod
	for _, p := range comparing {
		for _, c := range []struct {
			e       event.UpdateEvent
			missing string
		}{
			{update(nil, with()), "without the old object"},
			{update(none, with()), "without the old object"},
			{update(with(), nil), "without the new object"},
			{update(with(), none), "without the new object"},
			{update(nil, nil), "without the old object"},
		} {
			log := logtest.Read(t)
			require.False(t, p.Update(c.e), "%T", p)
			require.Contains(t, log.String(), "level=ERROR", "%T", p)
			require.Contains(t, log.String(), c.missing, "%T", p)
			if c.e != update(nil, nil) {
				require.Contains(t, log.String(), "Pod shop/web-1", "%T", p)
			}
		}
	}
}

func TestASelectorPassesObjectsWhoseLabelsMatch(t *testing.T) {
	p, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}},
	})
	require.NoError(t, err)
	matching, other := with(), with(func(p *corev1.Pod) { p.Labels["tier"] = "front" })
	for _, c := range []struct {
		obj  client.Object
		want bool
	}{{matching, true}, {other, false}} {
		create, update, deleted, generic := verdicts(p, c.obj)
		require.Equal(t, [4]bool{c.want, c.want, c.want, c.want}, [4]bool{create, update, deleted, generic}, "%v", c.obj.GetLabels())
	}
	require.True(t, p.Update(update(other, matching)), "an object that begins to match is heard of")
	require.False(t, p.Update(update(matching, other)), "one that stops matching is not, as in controller-runtime")
}

func TestAnEmptySelectorPassesEverythingThatIsThere(t *testing.T) {
	p, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{})
	require.NoError(t, err)
	require.True(t, p.Create(event.CreateEvent{Object: with()}))
	var none *corev1.Pod
	for _, missing := range []client.Object{nil, none} {
		log := logtest.Read(t)
		create, update, deleted, generic := verdicts(p, missing)
		require.Equal(t, [4]bool{}, [4]bool{create, update, deleted, generic})
		require.Contains(t, log.String(), "without an object")
	}
}

func TestASelectorThatIsNotValidIsAnError(t *testing.T) {
	_, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}},
	})
	require.ErrorContains(t, err, "label selector of a predicate")
	require.ErrorContains(t, err, "Near")
}
