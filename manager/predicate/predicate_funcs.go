package predicate

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

// Funcs is a Predicate of functions. An event without a function is let through.
type Funcs struct {
	CreateFunc  func(event.CreateEvent) bool
	DeleteFunc  func(event.DeleteEvent) bool
	UpdateFunc  func(event.UpdateEvent) bool
	GenericFunc func(event.GenericEvent) bool
}

// Create implements Predicate.
func (f Funcs) Create(e event.CreateEvent) bool { return f.CreateFunc == nil || f.CreateFunc(e) }

// Update implements Predicate.
func (f Funcs) Update(e event.UpdateEvent) bool { return f.UpdateFunc == nil || f.UpdateFunc(e) }

// Delete implements Predicate.
func (f Funcs) Delete(e event.DeleteEvent) bool { return f.DeleteFunc == nil || f.DeleteFunc(e) }

// Generic implements Predicate.
func (f Funcs) Generic(e event.GenericEvent) bool { return f.GenericFunc == nil || f.GenericFunc(e) }

// NewPredicateFuncs asks one question about the object of any event. Of an update it is the new
// object. So an update that turns the answer from yes to no is dropped, and the handler does not
// learn that the object no longer matches; if that matters, ask about ObjectOld, too.
func NewPredicateFuncs(filter func(object client.Object) bool) Funcs {
	return Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return filter(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return filter(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return filter(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return filter(e.Object) },
	}
}
