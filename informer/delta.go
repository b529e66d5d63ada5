package informer

import "fmt"

// DeltaType is what happened to an object, as seen by somebody with a copy.
type DeltaType uint8

// The types say what the change means to the copy, not what the watch called it.
const (
	// Added: the copy has no object of that key.
	DeltaAdded DeltaType = iota + 1
	// Updated: the copy has an older version of the same object.
	DeltaUpdated
	// Deleted: the copy has an object that is no longer there.
	DeltaDeleted
	// Sync: nothing happened. The object is handed over again because somebody
	// asked for all of them, see DeltaQueue.Resync.
	DeltaSync
)

// String is the type's name in the flight recorder.
func (t DeltaType) String() string {
	if t < DeltaAdded || t > DeltaSync {
		return fmt.Sprintf("DeltaType(%d)", uint8(t))
	}
	return [...]string{"Added", "Updated", "Deleted", "Sync"}[t-1]
}

// Delta is a step from a copy of a collection towards what the server has.
//
// client-go's types repeat what the watch said, and its consumer looks into its own
// store to find out whether "Added" is news. Here the type says so.
type Delta[T Object] struct {
	Type DeltaType
	Key  Key
	// Object is the object as it is now, and for Deleted as it was last known.
	Object T
	// Old is what the copy has; the zero T for Added.
	Old T
	// FinalStateUnknown makes a Deleted a tombstone: nobody saw the deletion. The
	// object vanished while there was no watch, and Object is the last known state,
	// which may be old. client-go wraps the object in a type of its own,
	// DeletedFinalStateUnknown, which every untyped handler must look for.
	FinalStateUnknown bool
	// Initial marks what was in the first list.
	Initial bool
}
