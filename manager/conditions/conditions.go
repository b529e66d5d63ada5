// Package conditions keeps the conditions in an object's status: what is true of the object, since
// when, why, and of which generation of its spec.
//
// Data flow: an observation -> Set: the list in memory, with the time of the last transition kept ->
// Summarize: one condition for all -> Write: one patch of the status, or nothing.
//
// Neighbours: below it is the client. Above it are reconcilers. controller-runtime has nothing like
// it; apimachinery's meta.SetStatusCondition is like Set, without the generation.
package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Set puts an observation into the list of conditions of object, and reports whether that has
// changed the list. The condition needs a type, a status, and a reason; the rest of it Set fills in:
//
//   - The observed generation is that of object: the spec that the caller has read. So a reader can
//     see whether a condition is about the spec of today.
//   - The time of the last transition stays as long as the status does. A new reason or message is no
//     transition. A time that the caller gives is that of a transition, if there is one.
//
// Times are whole seconds, which is what the API server stores. With more than that, an object would
// differ from what it is after it was written.
func Set(object metav1.Object, list *[]metav1.Condition, observed metav1.Condition) (changed bool) {
	observed.ObservedGeneration = object.GetGeneration()
	at := slices.IndexFunc(*list, func(c metav1.Condition) bool { return c.Type == observed.Type })
	if at < 0 {
		observed.LastTransitionTime = now(observed)
		*list = append(slices.Clone(*list), observed)
		return true
	}
	known := (*list)[at]
	if known.Status == observed.Status && !known.LastTransitionTime.IsZero() {
		observed.LastTransitionTime = known.LastTransitionTime
	} else {
		observed.LastTransitionTime = now(observed)
	}
	if observed == known {
		return false
	}
	*list = slices.Clone(*list) // which a cached object may share
	(*list)[at] = observed
	return true
}

// now is the time that the caller gives, or else the present.
func now(observed metav1.Condition) metav1.Time {
	if at := observed.LastTransitionTime; !at.IsZero() {
		return at.Rfc3339Copy()
	}
	return metav1.Now().Rfc3339Copy()
}

// Get returns the condition of a type, and whether there is one.
func Get(list []metav1.Condition, of string) (metav1.Condition, bool) {
	at := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == of })
	if at < 0 {
		return metav1.Condition{}, false
	}
	return list[at], true
}

// IsTrue reports whether a condition is true, and about the spec that object has. A condition about
// an older spec says nothing about this one.
func IsTrue(object metav1.Object, list []metav1.Condition, of string) bool {
	c, found := Get(list, of)
	return found && c.Status == metav1.ConditionTrue && c.ObservedGeneration == object.GetGeneration()
}

// Remove takes a condition out of the list, and reports whether it was there.
func Remove(list *[]metav1.Condition, of string) (changed bool) {
	if _, found := Get(*list, of); !found {
		return false
	}
	*list = slices.DeleteFunc(slices.Clone(*list), func(c metav1.Condition) bool { return c.Type == of })
	return true
}
