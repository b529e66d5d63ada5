package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/trace"
)

// Recorded is And for sources. Each evaluation goes to the flight recorder, and a refusal names the
// predicate that said no. So you can find out why an object wasn't reconciled. The layer is the
// caller's name: the controller's.
//
// A predicate's name is its String method's answer if it has one; otherwise its type, or for Funcs
// the name of the function.
//
// If the recorder is off, this is And. Without predicates nothing is recorded.
func Recorded[object any](
	recorder *trace.Recorder, layer string, predicates ...TypedPredicate[object],
) TypedPredicate[object] {
	if !recorder.On() || len(predicates) == 0 {
		return all[object](predicates)
	}
	return recorded[object]{recorder, layer, predicates}
}

type recorded[object any] struct {
	recorder   *trace.Recorder
	layer      string
	predicates all[object]
}

func (r recorded[object]) Create(e event.TypedCreateEvent[object]) bool {
	return r.judge("create", e.Object, func(p TypedPredicate[object]) (bool, any) {
		return p.Create(e), funcsOf(p).CreateFunc
	})
}

func (r recorded[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return r.judge("update", e.ObjectNew, func(p TypedPredicate[object]) (bool, any) {
		return p.Update(e), funcsOf(p).UpdateFunc
	})
}

func (r recorded[object]) Delete(e event.TypedDeleteEvent[object]) bool {
	return r.judge("delete", e.Object, func(p TypedPredicate[object]) (bool, any) {
		return p.Delete(e), funcsOf(p).DeleteFunc
	})
}

func (r recorded[object]) Generic(e event.TypedGenericEvent[object]) bool {
	return r.judge("generic event", e.Object, func(p TypedPredicate[object]) (bool, any) {
		return p.Generic(e), funcsOf(p).GenericFunc
	})
}

// String returns the names of the recorded predicates.
func (r recorded[object]) String() string { return r.predicates.String() }

func (r recorded[object]) judge(op string, obj object, ask evaluation[object]) bool {
	refused := refusedBy(r.predicates, ask)
	entry := trace.Event{
		Kind: trace.Predicate, Outcome: trace.Passed, Layer: r.layer, Object: event.KindOf(obj),
		Op: op,
	}
	if obj, ok := any(obj).(client.Object); ok && !event.IsNil(obj) {
		entry.Namespace, entry.Name, entry.Version = obj.GetNamespace(), obj.GetName(),
			obj.GetResourceVersion()
	}
	if refused != "" {
		entry.Outcome, entry.Reason = trace.Filtered, refused
	}
	r.recorder.Record(entry)
	return refused == ""
}

// evaluation calls one predicate with an event. For a Funcs, it also returns the function that it
// called.
type evaluation[object any] func(TypedPredicate[object]) (passed bool, function any)

// refusedBy returns the name of the first predicate that says no; for an And, the name of the one
// inside it. It's empty if all of them say yes.
func refusedBy[object any](predicates all[object], ask evaluation[object]) string {
	for _, p := range predicates {
		if inner, ok := p.(all[object]); ok {
			if refused := refusedBy(inner, ask); refused != "" {
				return refused
			}
			continue
		}
		if passed, function := ask(p); !passed {
			if name := anyvalue.FunctionName(function); name != "" {
				return name
			}
			return anyvalue.Name(p, "predicate")
		}
	}
	return ""
}

// funcsOf returns a Funcs without functions if p isn't a Funcs.
func funcsOf[object any](p TypedPredicate[object]) TypedFuncs[object] {
	f, _ := p.(TypedFuncs[object])
	return f
}
