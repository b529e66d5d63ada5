// Package conditions keeps the conditions in an object's status: what is true of the object, since
// when, why, and for which generation of its spec.
//
// Data flow: an observation -> Set: the list in memory, with the time of the last transition kept
// -> Summary.Of: one condition for all -> Write: one patch of the status, or no request.
//
// Neighbours: below it is the client. Above it are reconcilers. controller-runtime has no such
// package; apimachinery's meta.SetStatusCondition is like Set, without the generation.
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

// Set puts an observation into an object's list of conditions, and returns true if that changed the
// list. The condition needs a type, a status, and a reason; Set fills in the rest:
//
//   - The observed generation is object's: that of the spec that the caller has read. So a reader
//     can see whether a condition is about the current spec.
//   - The time of the last transition stays as long as the status does. A new reason or message
//     isn't a transition. If you set a time, it's used for a transition, if there is one.
//
// Times are whole seconds, which is what the API server stores. With fractions, the object in
// memory would differ from the one that the API server returns.
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
	*list = slices.Clone(*list) // a cached object may share the old one
	(*list)[at] = observed
	return true
}

// now is the caller's time if it gives one, or else the current time.
func now(observed metav1.Condition) metav1.Time {
	if at := observed.LastTransitionTime; !at.IsZero() {
		return at.Rfc3339Copy()
	}
	return metav1.Now().Rfc3339Copy()
}

// Get returns the condition of a type, and whether there's one.
func Get(list []metav1.Condition, of string) (metav1.Condition, bool) {
	at := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == of })
	if at < 0 {
		return metav1.Condition{}, false
	}
	return list[at], true
}

// IsTrue returns true if a condition is true, and about the object's current spec. It ignores a
// condition about an older spec.
func IsTrue(object metav1.Object, list []metav1.Condition, of string) bool {
	c, found := Get(list, of)
	return found && c.Status == metav1.ConditionTrue &&
		c.ObservedGeneration == object.GetGeneration()
}

// Remove removes a condition from the list, and returns true if it was there.
func Remove(list *[]metav1.Condition, of string) (changed bool) {
	if _, found := Get(*list, of); !found {
		return false
	}
	*list = slices.DeleteFunc(slices.Clone(*list), func(c metav1.Condition) bool {
		return c.Type == of
	})
	return true
}

// Summary combines several conditions into one, so a user can wait for it with `kubectl wait`.
type Summary struct {
	// Type is the type of the combined condition, such as Ready.
	Type string
	// Good are the types of conditions that have to be true, most important first.
	Good []string
	// Bad are the types of conditions that have to be false or missing, such as Stalled. They're
	// more important than the good ones.
	Bad []string
}

// verdict is one condition's vote on the summary.
type verdict int

const (
	fine verdict = iota
	unknown
	wrong
)

// Of returns the summary of the object's conditions. Pass it to Set.
//
// It's False if one of the conditions is wrong; otherwise Unknown if one of them is Unknown,
// missing, or about an older spec; otherwise True. The reason is the most important condition's
// with this result, and the message names all of them.
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
			c = metav1.Condition{
				Type: of, Status: metav1.ConditionUnknown, Reason: "NotObserved",
				Message: "nobody has looked yet", ObservedGeneration: object.GetGeneration(),
			}
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

// judge compares a condition with the status that it should have.
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

// Write compares an object's status with the copy taken before the changes, writes the difference
// in one patch of the status, and returns true if there was a difference. If there's none, it
// sends no request.
//
//	before := site.DeepCopy()
//	conditions.Set(site, &site.Status.Conditions, ...) // as often as you like
//	_, err := conditions.Write(ctx, c, before, site)
//
// Guarantees: Write sends only differences of the status. If the object in the cluster is no longer
// the one that was copied, it returns a conflict: a patch replaces the whole list of conditions,
// and would delete those that other clients have written in between.
//
// Caveats: the server's answer to the patch overwrites all of object. So write your other changes
// first, and take the copy after that.
//
// Errors: the client's. After a conflict, read the object again, as the next reconcile does.
func Write(
	ctx context.Context, c client.Client, before, object client.Object,
) (written bool, err error) {
	data, err := statusPatch(before, object)
	if data == nil {
		return false, err
	}
	if err := c.Status().Patch(ctx, object,
		client.RawPatch(types.MergePatchType, data)); err != nil {
		return false, fmt.Errorf("write the status of %s: %w",
			client.ObjectKeyFromObject(object), err)
	}
	return true, nil
}

// statusPatch is a merge patch from one status to the other, with the resourceVersion that it
// starts from; nil if they are equal.
func statusPatch(before, object client.Object) ([]byte, error) {
	version := before.GetResourceVersion()
	if version == "" {
		return nil, fmt.Errorf("write the status of %s: the object was not read from the "+
			"cluster, as it has no resourceVersion", client.ObjectKeyFromObject(object))
	}
	was, err := statusOf(before)
	is, err2 := statusOf(object)
	var difference []byte
	if err = errors.Join(err, err2); err == nil { // what is no JSON makes jsonpatch panic
		difference, err = jsonpatch.CreateMergePatch(was, is)
	}
	if err != nil {
		return nil, fmt.Errorf("write the status of %s: %w",
			client.ObjectKeyFromObject(object), err)
	}
	if string(difference) == "{}" {
		return nil, nil
	}
	return fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},%s`, version, difference[1:]), nil
}

// statusOf is a JSON object with nothing but the status.
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
