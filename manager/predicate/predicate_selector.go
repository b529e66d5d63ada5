package predicate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
)

// LabelSelectorPredicate lets events of objects through whose labels match. Of an update it looks
// at the new object, as NewPredicateFuncs does. So an object that stops matching goes unnoticed: its
// update is dropped, and so are all events after it, even its end. A controller that has to clean
// up after such an object needs a Funcs that asks p about both states:
//
//	UpdateFunc: func(e event.UpdateEvent) bool {
//		return p.Update(e) || p.Create(event.CreateEvent{Object: e.ObjectOld})
//	}
//
// Or(p, LabelChangedPredicate{}) does it as well. But it also passes every creation and deletion,
// of whatever object, because LabelChangedPredicate does.
//
// The error is about a selector that is not valid.
func LabelSelectorPredicate(s metav1.LabelSelector) (Predicate, error) {
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil, fmt.Errorf("label selector of a predicate: %w", err)
	}
	return selected{selector}, nil
}

type selected struct{ labels.Selector }

func (s selected) Create(e event.CreateEvent) bool   { return s.matches(e.Object) }
func (s selected) Update(e event.UpdateEvent) bool   { return s.matches(e.ObjectNew) }
func (s selected) Delete(e event.DeleteEvent) bool   { return s.matches(e.Object) }
func (s selected) Generic(e event.GenericEvent) bool { return s.matches(e.Object) }

// String is for the flight recorder.
func (s selected) String() string { return "LabelSelectorPredicate(" + s.Selector.String() + ")" }

func (s selected) matches(obj client.Object) bool {
	if event.IsNil(obj) {
		log.RuntimeLog.WithName("predicate").Error(nil, "An event without an object is dropped: there are no labels to select by", "selector", s.Selector.String())
		return false
	}
	return s.Matches(labels.Set(obj.GetLabels()))
}
