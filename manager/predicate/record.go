package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/trace"
)

// Recorded is And for sources. Each evaluation goes to the flight recorder, and a refusal names the
// predicate from which it came. So somebody who wonders why an object was not reconciled finds
// the answer. The layer is who asks: the name of the controller.
//
// A predicate is called by its String method if it has one; otherwise by its type, and Funcs by
// the name of the function.
//
// If the recorder is off, this is And. Without predicates nothing is recorded.
func Recorded(recorder *trace.Recorder, layer string, predicates ...Predicate) Predicate {
	if !recorder.On() || len(predicates) == 0 {
		return all(predicates)
	}
	return recorded{recorder, layer, predicates}
}

type recorded struct {
	recorder   *trace.Recorder
	layer      string
	predicates all
}

func (r recorded) Create(e event.CreateEvent) bool {
	return r.judge("create", e.Object, func(p Predicate) (bool, any) {
		return p.Create(e), funcsOf(p).CreateFunc
	})
}

func (r recorded) Update(e event.UpdateEvent) bool {
	return r.judge("update", e.ObjectNew, func(p Predicate) (bool, any) {
		return p.Update(e), funcsOf(p).UpdateFunc
	})
}

func (r recorded) Delete(e event.DeleteEvent) bool {
	return r.judge("delete", e.Object, func(p Predicate) (bool, any) {
		return p.Delete(e), funcsOf(p).DeleteFunc
	})
}

func (r recorded) Generic(e event.GenericEvent) bool {
	return r.judge("generic event", e.Object, func(p Predicate) (bool, any) {
		return p.Generic(e), funcsOf(p).GenericFunc
	})
}

// String is the name of what is recorded.
func (r recorded) String() string { return r.predicates.String() }

func (r recorded) judge(op string, obj client.Object, ask evaluation) bool {
	refused := refusedBy(r.predicates, ask)
	entry := trace.Event{
		Kind: trace.Predicate, Outcome: trace.Passed, Layer: r.layer, Object: event.KindOf(obj),
		Op: op,
	}
	if !event.IsNil(obj) {
		entry.Namespace, entry.Name, entry.Version = obj.GetNamespace(), obj.GetName(),
			obj.GetResourceVersion()
	}
	if refused != "" {
		entry.Outcome, entry.Reason = trace.Filtered, refused
	}
	r.recorder.Record(entry)
	return refused == ""
}

// evaluation asks one predicate about an event. If it is a Funcs, it also returns the function that
// was asked.
type evaluation func(Predicate) (passed bool, function any)

// refusedBy returns the name of the first predicate that says no, and of one inside an And, the
// name of that; it is empty if all of them say yes.
func refusedBy(predicates all, ask evaluation) string {
	for _, p := range predicates {
		if inner, ok := p.(all); ok {
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

// funcsOf returns a Funcs without functions if p is none.
func funcsOf(p Predicate) Funcs {
	f, _ := p.(Funcs)
	return f
}
