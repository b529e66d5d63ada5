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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
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

// Summary makes one condition of several: that a user waits for with `kubectl wait`.
type Summary struct {
	// Type is the type of the condition that is made, such as Ready.
	Type string
	// Good are types of conditions that have to be true, most important first.
	Good []string
	// Bad are types of conditions that have to be false or missing, such as Stalled. They are more
	// important than the good ones.
	Bad []string
}

// verdict is what one condition means for the summary.
type verdict int

const (
	fine verdict = iota
	unknown
	wrong
)

// Of returns the summary of the conditions of object. Give it to Set.
//
// It is False if one of the conditions is wrong, or else Unknown if one of them is not known, missing,
// or about an older spec; or else True. The reason is that of the most important condition that is to
// blame, and the message names all of these.
func (s Summary) Of(object metav1.Object, list []metav1.Condition) metav1.Condition {
	worst, reason, messages := fine, "", []string(nil)
	weigh := func(v verdict, c metav1.Condition) {
		if v > worst {
			worst, reason, messages = v, c.Reason, nil
		}
		if v == worst && v != fine {
			messages = append(messages, text(c))
		}
	}
	for _, of := range s.Bad {
		if c, found := Get(list, of); found {
			weigh(judge(object, c, metav1.ConditionFalse), c)
		}
	}
	for _, of := range s.Good {
		c, found := Get(list, of)
		if !found {
			c = metav1.Condition{Type: of, Status: metav1.ConditionUnknown, Reason: "NotObserved", Message: "nobody has looked yet", ObservedGeneration: object.GetGeneration()}
		}
		weigh(judge(object, c, metav1.ConditionTrue), c)
	}
	made := metav1.Condition{Type: s.Type, Reason: reason, Message: strings.Join(messages, "; ")}
	switch worst {
	case wrong:
		made.Status = metav1.ConditionFalse
	case unknown:
		made.Status = metav1.ConditionUnknown
	case fine:
		made.Status, made.Reason = metav1.ConditionTrue, "AllFine"
	}
	return made
}

// judge says what a condition means if it should have a status.
func judge(object metav1.Object, c metav1.Condition, should metav1.ConditionStatus) verdict {
	switch {
	case c.ObservedGeneration != object.GetGeneration() || c.Status == metav1.ConditionUnknown:
		return unknown
	case c.Status == should:
		return fine
	default:
		return wrong
	}
}

func text(c metav1.Condition) string {
	if c.Message == "" {
		return c.Type + ": " + c.Reason
	}
	return c.Type + ": " + c.Message
}

// Write writes what has changed in the status of an object since it was copied, in one patch of
// the status, and reports whether there was anything to write. If there was not, it sends nothing.
//
//	before := site.DeepCopy()
//	conditions.Set(site, &site.Status.Conditions, ...) // as often as you like
//	_, err := conditions.Write(ctx, c, before, site)
//
// Guarantees: what differs outside of the status is not sent. If the object in the cluster is not
// the one that before was, the answer is a conflict: a list of conditions is replaced as a whole, and those
// that others have written in between would be lost.
//
// Caveats: after a patch, object is what the server has answered, all of it. So write what else you
// have changed before, and take the copy after that.
//
// Errors: those of the client. After a conflict, read the object again, as the next reconcile does.
func Write(ctx context.Context, c client.Client, before, object client.Object) (written bool, err error) {
	data, err := statusPatch(before, object)
	if data == nil {
		return false, err
	}
	if err := c.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, data)); err != nil {
		return false, fmt.Errorf("write the status of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	return true, nil
}

// statusPatch is a merge patch of what differs in the status, with the version that it starts from;
// nil if nothing does.
func statusPatch(before, object client.Object) ([]byte, error) {
	version := before.GetResourceVersion()
	if version == "" {
		return nil, fmt.Errorf("write the status of %s: the object was not read from the cluster, as it has no resourceVersion", client.ObjectKeyFromObject(object))
	}
	was, err := statusOf(before)
	is, err2 := statusOf(object)
	difference, err3 := jsonpatch.CreateMergePatch(was, is)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, fmt.Errorf("write the status of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	if string(difference) == "{}" {
		return nil, nil
	}
	return fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},%s`, version, difference[1:]), nil
}

// statusOf is the object as JSON, without all but the status.
func statusOf(object client.Object) ([]byte, error) {
	var half struct {
		Status json.RawMessage `json:"status,omitempty"`
	}
	whole, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(whole, &half)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(half)
}
