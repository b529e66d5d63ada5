package handler

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/workqueue"
)

// cause is an event of any of the four kinds, as the reason for a request.
type cause struct {
	eventType eventType
	object    client.Object // the newest state in the event; nil if it has none
	older     client.Object // the state before it; only updates have one
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

func ofCreate[object any](e event.TypedCreateEvent[object]) cause {
	c := cause{eventType: created, object: orNil(e.Object)}
	if e.IsInInitialList {
		c.eventType = listed
	}
	return c
}

// ofUpdate calls an update a resync if both objects have the same resourceVersion. If one of the
// objects is missing, we don't know what has changed, so it stays an update.
func ofUpdate[object any](e event.TypedUpdateEvent[object]) cause {
	c := cause{eventType: updated, object: orNil(e.ObjectNew), older: orNil(e.ObjectOld)}
	switch {
	case c.object == nil:
		c.object, c.older = c.older, nil
	case c.older != nil && c.object.GetResourceVersion() == c.older.GetResourceVersion():
		c.eventType = resynced
	}
	return c
}

func ofDelete[object any](e event.TypedDeleteEvent[object]) cause {
	c := cause{eventType: deleted, object: orNil(e.Object)}
	if e.DeleteStateUnknown {
		c.eventType = deletedUnseen
	}
	return c
}

func ofGeneric[object any](e event.TypedGenericEvent[object]) cause {
	return cause{eventType: generic, object: orNil(e.Object)}
}

// orNil also returns nil for a value that isn't an API object: a channel's events may be about
// anything.
func orNil(obj any) client.Object {
	if object, ok := obj.(client.Object); ok && !event.IsNil(obj) {
		return object
	}
	return nil
}

var lowPriority = LowPriority // nobody writes to it

// opts says how to add requests because of an event: with its reason, such as "update of Pod
// shop/web, through its owner", and with a low priority if nothing may have changed. The * is
// replaced by the object's namespace and name when somebody reads the reason. Without an object the
// priority isn't low, because we know nothing about the object.
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
