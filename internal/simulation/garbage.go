package simulation

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// JudgeGarbage judges NoStranger of a garbage collector.
func (w *World) JudgeGarbage() {
	j := &garbageJudge{World: w, alive: map[types.UID]known{}, waited: map[types.UID]bool{}}
	for _, change := range w.Changes() {
		j.see(change)
	}
}

type garbageJudge struct {
	*World
	alive  map[types.UID]known
	waited map[types.UID]bool // owners that have waited for their dependents
}

type known struct {
	client.Object
	since time.Time
}

func (j *garbageJudge) see(change Change) {
	now := change.Object
	uid := now.GetUID()
	before, wasThere := j.alive[uid]
	begins := wasThere && before.GetDeletionTimestamp() == nil &&
		(change.IsGone || now.GetDeletionTimestamp() != nil)
	if begins && !j.byUser(uid) {
		j.Count("collected")
		j.collected(change.At, before)
	}
	waitsNoMore := wasThere && waits(before) && (change.IsGone || !waits(now))
	endsWaiting := slices.ContainsFunc(j.deeds.deleted[uid],
		func(p metav1.DeletionPropagation) bool { return p != metav1.DeletePropagationForeground })
	if waitsNoMore && !endsWaiting {
		j.Count("waited for")
		j.wentBefore(change.At, now)
	}
	if change.IsGone {
		delete(j.alive, uid)
		return
	}
	if wasThere && len(now.GetOwnerReferences()) < len(before.GetOwnerReferences()) {
		j.Count("orphaned")
	}
	j.alive[uid] = known{now, change.At}
	j.waited[uid] = j.waited[uid] || waits(now)
}

// waits reports whether an object that's deleted in the foreground waits for its dependents.
func waits(object client.Object) bool {
	return slices.Contains(object.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// collected judges the deletion of an object by the collector.
func (j *garbageJudge) collected(at time.Time, object client.Object) {
	refs := object.GetOwnerReferences()
	for _, ref := range refs {
		owner, isThere := j.alive[ref.UID]
		if isThere && owner.GetNamespace() == object.GetNamespace() && !j.waited[ref.UID] {
			j.Breaks(NoStranger, at, "%s was deleted, and its owner %s lives", object.GetName(),
				ref.Name)
		}
	}
	if len(refs) == 0 {
		j.Breaks(NoStranger, at, "%s was deleted, and has no owner", object.GetName())
	}
}

// wentBefore judges an owner that waits for its dependents no more. The collector may not
// know yet of a dependent that's younger than the Memory.
func (j *garbageJudge) wentBefore(at time.Time, owner client.Object) {
	for _, dependent := range j.alive {
		for _, ref := range dependent.GetOwnerReferences() {
			if ref.UID == owner.GetUID() && ref.BlockOwnerDeletion != nil &&
				*ref.BlockOwnerDeletion && dependent.GetNamespace() == owner.GetNamespace() &&
				at.Sub(dependent.since) > Memory {
				j.Breaks(NoStranger, at, "%s went before its dependent %s", owner.GetName(),
					dependent.GetName())
			}
		}
	}
}
