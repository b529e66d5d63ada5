package trace

import "slices"

// Filter selects events. Each field that is set must match; the zero Filter matches everything.
type Filter struct {
	Kinds     []Kind // any of these
	Layer     string
	Object    string
	Namespace string
	Name      string
}

// Match reports whether the filter selects the event.
//
// An event matches a key in two ways: it's about that key, or it made a request for it. The second
// finds, for a ReplicaSet, the Pod event whose handler enqueued it. A Deployment and a Service of
// the same name are two keys. A layer that doesn't know the kind leaves it empty, and its events
// match any.
func (f Filter) Match(e Event) bool {
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind) {
		return false
	}
	if f.Layer != "" && f.Layer != e.Layer {
		return false
	}
	if f.made(e) {
		return true
	}
	return f.sameObject(e.Object) &&
		(f.Namespace == "" || f.Namespace == e.Namespace) &&
		(f.Name == "" || f.Name == e.Name)
}

// made reports whether the event made a request for the key.
func (f Filter) made(e Event) bool {
	return f.Name != "" && f.Name == e.ToName && f.sameObject(e.ToObject) &&
		(f.Namespace == "" || f.Namespace == e.ToNamespace)
}

func (f Filter) sameObject(object string) bool {
	return f.Object == "" || object == "" || f.Object == object
}

// Select returns the events that the filter matches, in their order.
func (f Filter) Select(events []Event) []Event {
	var out []Event
	for _, e := range events {
		if f.Match(e) {
			out = append(out, e)
		}
	}
	return out
}

// Why returns the events that explain why a key was reconciled: everything about the key itself
// and, for each request that a handler made for it from another object, how that other object's
// change arrived (the events of that object at the same resourceVersion, before the handler).
func Why(events []Event, object, namespace, name string) []Event {
	key := Filter{Object: object, Namespace: namespace, Name: name}
	type change struct{ object, namespace, name, version string }
	until := map[change]uint64{}
	for _, e := range events {
		if e.Kind == Handler && key.made(e) {
			until[change{e.Object, e.Namespace, e.Name, e.Version}] = e.Seq
		}
	}
	var out []Event
	for _, e := range events {
		caused := e.Seq <= until[change{e.Object, e.Namespace, e.Name, e.Version}]
		// A request that a handler made from the same change for another key belongs to that key's
		// story.
		if key.Match(e) || caused && e.Kind != Handler {
			out = append(out, e)
		}
	}
	return out
}
