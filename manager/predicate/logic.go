package predicate

import (
	"strings"

	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// And, Or and Not have type parameters that do nothing. In controller-runtime a predicate may be
// for one Go type, and the parameter object says which. Here there is one type of predicate, but
// programs that write And[client.Object](...) have to compile. Without the argument, the compiler
// finds it in two steps: the arguments have a method Create of a CreateEvent, which is create, and
// a CreateEvent has an Object, whose type is object.

// createOf is CreateEvent, with a name for the type of its object.
type createOf[object any] interface {
	~struct {
		Object          object
		IsInInitialList bool
	}
}

// And lets an event through if all predicates do. It asks them in order, until one says no. With
// no predicates it lets everything through. Call it as And(a, b): its parameters are Predicates, and
// the type parameters are there for programs that write And[client.Object](a, b).
func And[object any, create createOf[object]](predicates ...predicateOf[create]) Predicate {
	return all(asPredicates(predicates))
}

// Or lets an event through if one of the predicates does. It asks them in order, until one says
// yes. With no predicates it lets nothing through. Call it as Or(a, b).
func Or[object any, create createOf[object]](predicates ...predicateOf[create]) Predicate {
	return anyOf(asPredicates(predicates))
}

// Not lets an event through if the predicate doesn't. Call it as Not(a).
//
// Caveats: it reverses the answers for all events. Not(GenerationChangedPredicate{}) also drops
// every create and delete event, because the predicate lets them through.
func Not[object any, create createOf[object]](predicate predicateOf[create]) Predicate {
	return not{any(predicate).(Predicate)}
}

// asPredicates is only for the compiler, which does not see that create must be CreateEvent.
func asPredicates[create any](predicates []predicateOf[create]) []Predicate {
	return any(predicates).([]Predicate)
}

type all []Predicate

func (a all) Create(e event.CreateEvent) bool {
	return a.every(func(p Predicate) bool { return p.Create(e) })
}
func (a all) Update(e event.UpdateEvent) bool {
	return a.every(func(p Predicate) bool { return p.Update(e) })
}
func (a all) Delete(e event.DeleteEvent) bool {
	return a.every(func(p Predicate) bool { return p.Delete(e) })
}
func (a all) Generic(e event.GenericEvent) bool {
	return a.every(func(p Predicate) bool { return p.Generic(e) })
}

func (a all) every(asked func(Predicate) bool) bool {
	for _, p := range a {
		if !asked(p) {
			return false
		}
	}
	return true
}

func (a all) String() string { return "And" + list(a) }

type anyOf []Predicate

func (o anyOf) Create(e event.CreateEvent) bool {
	return o.some(func(p Predicate) bool { return p.Create(e) })
}
func (o anyOf) Update(e event.UpdateEvent) bool {
	return o.some(func(p Predicate) bool { return p.Update(e) })
}
func (o anyOf) Delete(e event.DeleteEvent) bool {
	return o.some(func(p Predicate) bool { return p.Delete(e) })
}
func (o anyOf) Generic(e event.GenericEvent) bool {
	return o.some(func(p Predicate) bool { return p.Generic(e) })
}

func (o anyOf) some(asked func(Predicate) bool) bool {
	for _, p := range o {
		if asked(p) {
			return true
		}
	}
	return false
}

func (o anyOf) String() string { return "Or" + list(o) }

type not struct{ predicate Predicate }

func (n not) Create(e event.CreateEvent) bool   { return !n.predicate.Create(e) }
func (n not) Update(e event.UpdateEvent) bool   { return !n.predicate.Update(e) }
func (n not) Delete(e event.DeleteEvent) bool   { return !n.predicate.Delete(e) }
func (n not) Generic(e event.GenericEvent) bool { return !n.predicate.Generic(e) }

func (n not) String() string { return "Not" + list([]Predicate{n.predicate}) }

func list(predicates []Predicate) string {
	names := make([]string, len(predicates))
	for i, p := range predicates {
		names[i] = anyvalue.Name(p, "predicate")
	}
	return "(" + strings.Join(names, ", ") + ")"
}
