package predicate

import (
	"strings"

	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// And lets an event through if all predicates do. It calls them in order, until one says no.
// Without predicates it lets everything through.
func And[object any](predicates ...TypedPredicate[object]) TypedPredicate[object] {
	return all[object](predicates)
}

// Or lets an event through if one of the predicates does. It calls them in order, until one says
// yes. Without predicates it lets nothing through.
func Or[object any](predicates ...TypedPredicate[object]) TypedPredicate[object] {
	return anyOf[object](predicates)
}

// Not lets an event through if the predicate doesn't.
//
// Caveats: it reverses the answers for all events. Not(GenerationChangedPredicate{}) also drops
// every create and delete event, because the predicate lets them through.
func Not[object any](predicate TypedPredicate[object]) TypedPredicate[object] {
	return not[object]{predicate}
}

type all[object any] []TypedPredicate[object]

func (a all[object]) Create(e event.TypedCreateEvent[object]) bool {
	return a.every(func(p TypedPredicate[object]) bool { return p.Create(e) })
}
func (a all[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return a.every(func(p TypedPredicate[object]) bool { return p.Update(e) })
}
func (a all[object]) Delete(e event.TypedDeleteEvent[object]) bool {
	return a.every(func(p TypedPredicate[object]) bool { return p.Delete(e) })
}
func (a all[object]) Generic(e event.TypedGenericEvent[object]) bool {
	return a.every(func(p TypedPredicate[object]) bool { return p.Generic(e) })
}

func (a all[object]) every(asked func(TypedPredicate[object]) bool) bool {
	for _, p := range a {
		if !asked(p) {
			return false
		}
	}
	return true
}

func (a all[object]) String() string { return "And" + list(a) }

type anyOf[object any] []TypedPredicate[object]

func (o anyOf[object]) Create(e event.TypedCreateEvent[object]) bool {
	return o.some(func(p TypedPredicate[object]) bool { return p.Create(e) })
}
func (o anyOf[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return o.some(func(p TypedPredicate[object]) bool { return p.Update(e) })
}
func (o anyOf[object]) Delete(e event.TypedDeleteEvent[object]) bool {
	return o.some(func(p TypedPredicate[object]) bool { return p.Delete(e) })
}
func (o anyOf[object]) Generic(e event.TypedGenericEvent[object]) bool {
	return o.some(func(p TypedPredicate[object]) bool { return p.Generic(e) })
}

func (o anyOf[object]) some(asked func(TypedPredicate[object]) bool) bool {
	for _, p := range o {
		if asked(p) {
			return true
		}
	}
	return false
}

func (o anyOf[object]) String() string { return "Or" + list(o) }

type not[object any] struct{ predicate TypedPredicate[object] }

func (n not[object]) Create(e event.TypedCreateEvent[object]) bool   { return !n.predicate.Create(e) }
func (n not[object]) Update(e event.TypedUpdateEvent[object]) bool   { return !n.predicate.Update(e) }
func (n not[object]) Delete(e event.TypedDeleteEvent[object]) bool   { return !n.predicate.Delete(e) }
func (n not[object]) Generic(e event.TypedGenericEvent[object]) bool { return !n.predicate.Generic(e) }

func (n not[object]) String() string { return "Not" + list([]TypedPredicate[object]{n.predicate}) }

func list[object any](predicates []TypedPredicate[object]) string {
	names := make([]string, len(predicates))
	for i, p := range predicates {
		names[i] = anyvalue.Name(p, "predicate")
	}
	return "(" + strings.Join(names, ", ") + ")"
}
