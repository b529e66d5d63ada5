package handler

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
)

// occurrence is what all handlers need to know of an event. It is the pure part of them.
type occurrence struct {
	what   what
	object client.Object // the newest state that the event has; nil if it has none
	older  client.Object // the state before it, which only updates have
}

// what happened, as a reason says it.
type what uint8

const (
	created what = iota
	listed
	updated
	resynced
	deleted
	deletedUnseen
	generic
	whats // how many there are
)

var whatNames = [whats]string{
	created: "create", listed: "first listing", updated: "update", resynced: "resync",
	deleted: "delete", deletedUnseen: "unseen delete", generic: "generic event",
}

func ofCreate(e event.CreateEvent) occurrence {
	o := occurrence{what: created, object: orNil(e.Object)}
	if e.IsInInitialList {
		o.what = listed
	}
	return o
}

// ofUpdate takes an update for a resync if nothing was written. It is none if one of the two
// objects is missing, because then nobody knows.
func ofUpdate(e event.UpdateEvent) occurrence {
	o := occurrence{what: updated, object: orNil(e.ObjectNew), older: orNil(e.ObjectOld)}
	switch {
	case o.object == nil:
		o.object, o.older = o.older, nil
	case o.older != nil && o.object.GetResourceVersion() == o.older.GetResourceVersion():
		o.what = resynced
	}
	return o
}

func ofDelete(e event.DeleteEvent) occurrence {
	o := occurrence{what: deleted, object: orNil(e.Object)}
	if e.DeleteStateUnknown {
		o.what = deletedUnseen
	}
	return o
}

func ofGeneric(e event.GenericEvent) occurrence {
	return occurrence{what: generic, object: orNil(e.Object)}
}

func orNil(obj client.Object) client.Object {
	if event.IsNil(obj) {
		return nil
	}
	return obj
}

// priority is nil where the queue's default counts.
func (o occurrence) priority() *int {
	if o.what == listed || o.what == resynced {
		return &lowPriority
	}
	return nil
}

var lowPriority = LowPriority // nobody writes to it
