package handler

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/workqueue"
)

// cause is an event, whichever of the four kinds it is, as the reason for a request.
type cause struct {
	eventType eventType
	object    client.Object // the newest state that the event has; nil if it has none
	older     client.Object // the state before it, which only updates have
}

// eventType is what happened, in the words of a reason.
type eventType string

const (
	created       eventType = "create"
	listed        eventType = "first listing"
	updated       eventType = "update"
	resynced      eventType = "resync"
	deleted       eventType = "delete"
	deletedUnseen eventType = "unseen delete"
	generic       eventType = "generic event"
)

func ofCreate(e event.CreateEvent) cause {
	c := cause{eventType: created, object: orNil(e.Object)}
	if e.IsInInitialList {
		c.eventType = listed
	}
	return c
}

// ofUpdate calls an update a resync if both objects have the same resourceVersion. If an update
// lacks one of its objects, nothing is known about what has changed, and it stays an update.
func ofUpdate(e event.UpdateEvent) cause {
	c := cause{eventType: updated, object: orNil(e.ObjectNew), older: orNil(e.ObjectOld)}
	switch {
	case c.object == nil:
		c.object, c.older = c.older, nil
	case c.older != nil && c.object.GetResourceVersion() == c.older.GetResourceVersion():
		c.eventType = resynced
	}
	return c
}

func ofDelete(e event.DeleteEvent) cause {
	c := cause{eventType: deleted, object: orNil(e.Object)}
	if e.DeleteStateUnknown {
		c.eventType = deletedUnseen
	}
	return c
}

func ofGeneric(e event.GenericEvent) cause {
	return cause{eventType: generic, object: orNil(e.Object)}
}

func orNil(obj client.Object) client.Object {
	if event.IsNil(obj) {
		return nil
	}
	return obj
}

var lowPriority = LowPriority // nobody writes to it

// opts is how requests are added because of an event: with its reason, such as "update of Pod
// shop/web, through its owner", and with a low priority if nothing may have changed. The namespace
// and name of the object take the place of the * when somebody reads the reason. Without an object
// the priority is not low, because nothing is known about it.
func (c cause) opts(through string) workqueue.AddOpts {
	if c.object == nil {
		return workqueue.AddOpts{Reason: string(c.eventType) + through}
	}
	opts := workqueue.AddOpts{
		Reason: string(c.eventType) + " of *" + through,
		About:  workqueue.Subject{Namespace: c.object.GetNamespace(), Name: c.object.GetName()},
	}
	if kind := event.KindOf(c.object); kind != "" {
		opts.Reason = string(c.eventType) + " of " + kind + " *" + through
	}
	if c.eventType == listed || c.eventType == resynced {
		opts.Priority = &lowPriority
	}
	return opts
}
