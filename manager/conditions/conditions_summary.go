package conditions

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
