package predicate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
)

func TestWithoutPredicatesAndPassesEverythingAndOrNothing(t *testing.T) {
	create, update, deleted, generic := verdicts(predicate.And[client.Object](), with())
	require.Equal(t, [4]bool{true, true, true, true}, [4]bool{create, update, deleted, generic})
	create, update, deleted, generic = verdicts(predicate.Or[client.Object](), with())
	require.Equal(t, [4]bool{}, [4]bool{create, update, deleted, generic})
}

// A predicate may be costly, and may rely on those before it: a cast that is safe after a test.
func TestNobodyIsAskedWhenTheAnswerIsKnown(t *testing.T) {
	for _, c := range []struct {
		name    string
		combine func(a, b answers) predicate.Predicate
		first   bool // the answer that settles it
	}{
		{"And", func(a, b answers) predicate.Predicate { return predicate.And(a, b) }, false},
		{"Or", func(a, b answers) predicate.Predicate { return predicate.Or(a, b) }, true},
	} {
		a, b := always(c.first), always(!c.first)
		verdicts(c.combine(a, b), with())
		require.Equal(t, []int{4, 0}, []int{*a.asked, *b.asked}, "%s: the first settles it", c.name)
		a, b = always(!c.first), always(c.first)
		verdicts(c.combine(a, b), with())
		require.Equal(t, []int{4, 4}, []int{*a.asked, *b.asked}, "%s: the second has to be asked", c.name)
	}
}

// random is a predicate whose answers depend on the event and nothing else: on its kind, and on
// the generation of its object.
func random(r *rand.Rand) predicate.Predicate {
	var table [4]uint64
	for i := range table {
		table[i] = r.Uint64()
	}
	says := func(kind int, obj client.Object) bool { return table[kind]>>(obj.GetGeneration()%64)&1 == 1 }
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return says(0, e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return says(1, e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return says(2, e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return says(3, e.Object) },
	}
}

// Who rewrites a condition by the rules of logic must not lose events.
func TestAndOrAndNotObeyDeMorgan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		predicates := make([]predicate.Predicate, r.IntN(5))
		negated := make([]predicate.Predicate, len(predicates))
		for i := range predicates {
			predicates[i] = random(r)
			negated[i] = predicate.Not(predicates[i])
		}
		same := func(law string, a, b predicate.Predicate) {
			for generation := range int64(64) {
				pod := with(func(p *corev1.Pod) { p.Generation = generation })
				ac, au, ad, ag := verdicts(a, pod)
				bc, bu, bd, bg := verdicts(b, pod)
				require.Equal(t, [4]bool{ac, au, ad, ag}, [4]bool{bc, bu, bd, bg}, "round %d, generation %d: %s", round, generation, law)
			}
		}
		same("not (a and b) is (not a) or (not b)", predicate.Not(predicate.And(predicates...)), predicate.Or(negated...))
		same("not (a or b) is (not a) and (not b)", predicate.Not(predicate.Or(predicates...)), predicate.And(negated...))
		one := random(r)
		same("not not a is a", predicate.Not(predicate.Not(one)), one)
		same("a is a", predicate.And(one), predicate.Or(one))
	}
}

// These are the ways in which programs for controller-runtime write it.
func TestTheTypeArgumentMayBeGivenOrNot(t *testing.T) {
	several := []predicate.Predicate{predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}}
	for i, p := range []predicate.Predicate{
		predicate.And(predicate.GenerationChangedPredicate{}, predicate.Funcs{}),
		predicate.And[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{}),
		predicate.Or(several...),
		predicate.Or[client.Object](several...),
		predicate.Or[client.Object](several[0], predicate.And[client.Object](several...)),
		predicate.Not(predicate.Not[client.Object](several[0])),
	} {
		require.False(t, p.Update(update(with(), with())), "%d", i)
		require.True(t, p.Create(event.CreateEvent{Object: with()}), "%d", i)
	}
}

func TestWhatIsPutTogetherHasAName(t *testing.T) {
	p := predicate.And(predicate.GenerationChangedPredicate{}, predicate.Or(predicate.Not(predicate.LabelChangedPredicate{}), always(true)))
	require.Equal(t, "And(GenerationChangedPredicate, Or(Not(LabelChangedPredicate), predicate_test.answers))", fmt.Sprint(p))
}
