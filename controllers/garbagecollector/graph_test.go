package garbagecollector

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/tests/race"
)

// The kinds of the random worlds: two versions of one, another one, and one without namespaces.
var (
	boxV1  = &schema.GroupVersionKind{Group: "shop", Version: "v1", Kind: "Box"}
	boxV2  = &schema.GroupVersionKind{Group: "shop", Version: "v2", Kind: "Box"}
	config = &schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	host   = &schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

// shown is an object as the informer of a kind has shown it last.
type shown struct {
	kind *schema.GroupVersionKind
	*metav1.ObjectMeta
}

// model computes from all objects, again after each event, what the graph keeps up to date.
type model struct {
	objects map[types.UID]shown
	absent  map[ownerIdentity]bool
}

func (m *model) isOwner(ref metav1.OwnerReference, namespace string) bool {
	owner, isThere := m.objects[ref.UID]
	return isThere && owner.Name == ref.Name && owner.kind.Kind == ref.Kind &&
		owner.kind.Group == schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group &&
		(owner.Namespace == "" || owner.Namespace == namespace)
}

func (m *model) dependents(uid types.UID) (all []types.UID) {
	for _, object := range m.objects {
		if findOwner(object.OwnerReferences, uid) != nil {
			all = append(all, object.UID)
		}
	}
	slices.Sort(all)
	return all
}

// nodes are the observed objects, and the owners that one of them names.
func (m *model) nodes() (all []types.UID) {
	for uid, object := range m.objects {
		all = append(all, uid)
		for _, ref := range object.OwnerReferences {
			all = append(all, ref.UID)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// blockedBy are the dependents for which an owner waits in the foreground.
func (m *model) blockedBy(uid types.UID) (all []types.UID) {
	for _, object := range m.objects {
		for _, ref := range object.OwnerReferences {
			if ref.UID == uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion &&
				m.isOwner(ref, object.Namespace) {
				all = append(all, object.UID)
			}
		}
	}
	return all
}

// waitsForItself follows those for which an object waits, down to the object itself.
func (m *model) waitsForItself(start types.UID) bool {
	reached, next := map[types.UID]bool{}, []types.UID{start}
	for len(next) > 0 {
		var more []types.UID
		for _, uid := range next {
			for _, dependent := range m.blockedBy(uid) {
				if dependent == start {
					return true
				}
				if !reached[dependent] && isDeletingDependents(m.objects[dependent]) {
					reached[dependent] = true
					more = append(more, dependent)
				}
			}
		}
		next = more
	}
	return false
}

// need is something that there is to do: for which node, and why.
type need struct {
	uid types.UID
	why string
	// or is a virtual owner: an attempt for it wakes the node.
	or types.UID
	// asker is the dependent of a virtual owner that asks instead, if the owner is certain to be
	// gone.
	asker types.UID
}

// needs lists what there is to do.
func (m *model) needs() map[need]bool {
	all := map[need]bool{}
	add := func(uid types.UID, why string) { all[need{uid: uid, why: why}] = true }
	for uid, object := range m.objects {
		if isOrphaning(object) {
			for _, dependent := range m.dependents(uid) {
				add(uid, "orphans "+string(dependent))
			}
			if len(m.dependents(uid)) == 0 {
				add(uid, "has nothing to orphan")
			}
		}
		if isDeletingDependents(object) && len(m.blockedBy(uid)) == 0 {
			add(uid, "has nothing to wait for")
		}
		for _, ref := range object.OwnerReferences {
			owner, isThere := m.objects[ref.UID]
			isAbsent := m.absent[identityOf(ref, object.Namespace)] || m.absent[identityOf(ref, "")]
			switch why := fmt.Sprint(ref.APIVersion, ref.Kind, ref.Name, ref.UID); {
			case !isThere && isAbsent:
				all[need{uid: uid, why: "its owner is absent: " + why, or: ref.UID}] = true
			case !isThere:
				all[need{uid: ref.UID, why: "is it there? " + why, asker: uid}] = true
			case !m.isOwner(ref, object.Namespace):
				add(uid, "it means another owner: "+why)
			case isDeletingDependents(owner):
				add(uid, "its owner waits: "+why)
			}
		}
	}
	return all
}

// check compares the graph with the model.
func (m *model) check(t *testing.T, g *graph) {
	require.Equal(t, m.nodes(), slices.Sorted(maps.Keys(g.nodes)))
	for uid := range g.nodes {
		it, isKnown := g.itemOf(uid)
		require.True(t, isKnown)
		object, isThere := m.objects[uid]
		require.Equal(t, isThere, !it.virtual, uid)
		var dependents []types.UID
		for _, dependent := range g.dependentsOf(uid) {
			dependents = append(dependents, dependent.uid)
		}
		require.Equal(t, m.dependents(uid), dependents, "the dependents of %s", uid)
		if it.virtual {
			require.NotEmpty(t, it.identities)
			continue
		}
		require.Equal(t, *object.kind, it.kind)
		require.Equal(t, object.Namespace+"/"+object.Name, it.namespace+"/"+it.name)
		require.Equal(t, len(m.blockedBy(uid)) > 0, it.isBlocked, "%s is blocked", uid)
		require.Equal(t, len(m.dependents(uid)) > 0, it.hasDependents, uid)
		require.Equal(t, m.waitsForItself(uid), it.waitsForItself, "%s waits for itself", uid)
		require.Equal(t, object.DeletionTimestamp != nil, it.beingDeleted, uid)
		require.Equal(t, isDeletingDependents(object), it.deletingDependents, uid)
		require.Equal(t, isOrphaning(object), it.orphaning, uid)
		allSolid, anyWaits := true, false
		for _, ref := range object.OwnerReferences {
			owner := m.objects[ref.UID]
			isThere := m.isOwner(ref, object.Namespace)
			isSolid := isThere && !isDeletingDependents(owner)
			allSolid, anyWaits = allSolid && isSolid, anyWaits || isThere && !isSolid
			state := g.stateOf(ref, object.Namespace)
			require.Equal(t, isSolid, state == ownerSolid)
			require.Equal(t, isThere && !isSolid, state == ownerWaiting)
		}
		require.Equal(t, allSolid, it.hasSolidOwners, "the owners of %s are solid", uid)
		require.Equal(t, anyWaits, it.hasWaitingOwner, "an owner of %s waits", uid)
	}
}

// player makes random events.
type player struct {
	*rand.Rand
	*model
}

func one[T any](p *player, of ...T) T { return of[p.IntN(len(of))] }

// object makes an object, in its first or another state. Its UID says what does not change.
func (p *player) object(number int) shown {
	namespace := []string{"a", "b", ""}[number%3]
	kind := host
	if namespace != "" {
		kind = []*schema.GroupVersionKind{config, boxV1}[number/3%2]
	}
	if kind == boxV1 && p.IntN(4) == 0 {
		kind = boxV2
	}
	object := &metav1.ObjectMeta{
		Namespace: namespace, Name: fmt.Sprint("n", number),
		UID: types.UID(fmt.Sprint("u", number)),
	}
	for range p.IntN(3) {
		object.OwnerReferences = append(object.OwnerReferences, p.reference())
	}
	if p.IntN(3) == 0 {
		object.DeletionTimestamp = new(metav1.Time)
		object.Finalizers = one(p, nil, []string{"x", metav1.FinalizerDeleteDependents},
			[]string{metav1.FinalizerDeleteDependents}, []string{metav1.FinalizerOrphanDependents})
	}
	return shown{kind, object}
}

// numbers is how many objects there may be.
const numbers = 14

// reference refers to an object that may be there, in most cases in the right way.
func (p *player) reference() metav1.OwnerReference {
	number := p.IntN(numbers)
	kind := host
	if number%3 < 2 {
		kind = []*schema.GroupVersionKind{config, boxV1}[number/3%2]
	}
	ref := metav1.OwnerReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: fmt.Sprint("n", number),
		UID:                types.UID(fmt.Sprint("u", number)),
		BlockOwnerDeletion: one(p, nil, new(false), new(true)),
	}
	switch p.IntN(12) {
	case 0:
		ref.Name = "other"
	case 1:
		ref.Kind = "Other"
	case 2:
		ref.APIVersion = "other/v1"
	}
	return ref
}

// next is the next event, which the model takes in, too.
func (p *player) next() event {
	known := slices.Sorted(maps.Keys(p.objects))
	choice := p.IntN(20)
	switch {
	case choice < 4 && len(known) > 0: // a small change: the next step of a life
		object := p.objects[one(p, known...)]
		changed := object.ObjectMeta.DeepCopy()
		switch refs := changed.OwnerReferences; {
		case len(refs) > 0 && p.IntN(2) == 0:
			refs[0].BlockOwnerDeletion = one(p, nil, new(true))
		case len(refs) > 0:
			changed.OwnerReferences = refs[1:]
		default:
			changed.DeletionTimestamp = new(metav1.Time)
			changed.Finalizers = []string{metav1.FinalizerDeleteDependents}
		}
		return p.show(shown{object.kind, changed})
	case choice < 12 || len(known) == 0:
		return p.show(p.object(p.IntN(numbers)))
	case choice < 16:
		object := p.objects[one(p, known...)]
		e := event{
			what: objectEnded, kind: object.kind, object: object.ObjectMeta,
			certain: p.IntN(2) == 0,
		}
		if p.IntN(6) == 0 { // the informer of another kind does not show it any more
			e.kind = &schema.GroupVersionKind{Group: "shop", Version: "v3", Kind: "Box"}
			return e
		}
		if e.certain && len(p.dependentsWithout(object.UID)) > 0 {
			p.absent[ownerIdentity{
				object.kind.GroupVersion().String(), object.kind.Kind,
				object.Namespace, object.Name, object.UID,
			}] = true
		}
		delete(p.objects, object.UID)
		return e
	case choice < 17:
		kind := one(p, boxV1, boxV2, config)
		maps.DeleteFunc(p.objects, func(_ types.UID, object shown) bool {
			return object.kind == kind
		})
		return event{what: kindGone, kind: kind}
	default:
		id := identityOf(p.reference(), one(p, "a", "b", ""))
		p.absent[id] = true
		return event{what: ownerIsAbsent, owner: id}
	}
}

// show makes an object the newest. A reference that it didn't have makes its owner unknown: the
// object may be back, and so may the owner.
func (p *player) show(object shown) event {
	var had []metav1.OwnerReference
	if was, isKnown := p.objects[object.UID]; isKnown {
		had = was.OwnerReferences
	}
	p.objects[object.UID] = object
	for _, ref := range object.OwnerReferences {
		_, isThere := p.objects[ref.UID]
		if !isThere && !slices.ContainsFunc(had, func(old metav1.OwnerReference) bool {
			return sameReference(old, ref)
		}) {
			delete(p.absent, identityOf(ref, object.Namespace))
			delete(p.absent, identityOf(ref, ""))
		}
	}
	return event{what: objectObserved, kind: object.kind, object: object.ObjectMeta}
}

// dependentsWithout are the dependents of an object, except itself.
func (p *player) dependentsWithout(uid types.UID) []types.UID {
	return slices.DeleteFunc(p.dependents(uid), func(other types.UID) bool { return other == uid })
}

// After any sequence of events, the graph is what follows from all objects; and whatever has become
// necessary is attempted. If it were not, an object would stay forever, or be deleted too early.
func TestWhateverInformersShowTheGraphIsWhatFollowsFromAllObjects(t *testing.T) {
	seeds := 15
	if race.Enabled || testing.Short() {
		seeds = 4
	}
	attempts, steps := 0, 0
	for seed := range seeds {
		m := &model{map[types.UID]shown{}, map[ownerIdentity]bool{}}
		p := &player{Rand: rand.New(rand.NewPCG(uint64(seed), 1)), model: m}
		g := newGraph()
		for step := range 500 {
			before := m.needs()
			e := p.next()
			todo := g.step(e)
			what := fmt.Sprintf("seed %d, step %d: %+v", seed, step, e)
			m.check(t, g)
			for need := range m.needs() {
				asks := e.certain && slices.Contains(todo.attempt, need.asker)
				if !before[need] && !asks && !slices.Contains(todo.attempt, need.or) {
					require.Contains(t, todo.attempt, need.uid, "%s: %+v", what, need)
				}
			}
			waiting := slices.IndexFunc(todo.attempt, func(uid types.UID) bool {
				return m.objects[uid].ObjectMeta != nil && isDeletingDependents(m.objects[uid])
			})
			if waiting < 0 {
				waiting = len(todo.attempt)
			}
			for _, uid := range todo.attempt[waiting:] {
				require.True(t, isDeletingDependents(m.objects[uid]), "%s: dependents first", what)
			}
			require.True(t, slices.IsSorted(todo.attempt[:waiting]), what)
			attempts, steps = attempts+len(todo.attempt), steps+1
			if e.what == objectObserved {
				require.Empty(t, g.step(e), "%s: the same again is no news", what)
			}
		}
	}
	t.Logf("%d steps, %d attempts", steps, attempts)
}

// A user who writes a reference to an owner in another namespace is told, once, whichever of the
// two informers is faster.
func TestAReferenceToAnotherNamespaceIsReportedOnce(t *testing.T) {
	owner := &metav1.ObjectMeta{Namespace: "a", Name: "owner", UID: "o"}
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "o"}
	right := &metav1.ObjectMeta{
		Namespace: "a", Name: "right", UID: "r", OwnerReferences: []metav1.OwnerReference{ref},
	}
	wrong := &metav1.ObjectMeta{
		Namespace: "b", Name: "wrong", UID: "w", OwnerReferences: []metav1.OwnerReference{ref},
	}
	node := &metav1.ObjectMeta{
		Name: "node", UID: "n", OwnerReferences: []metav1.OwnerReference{ref},
	}
	all := []event{
		{what: objectObserved, kind: config, object: owner},
		{what: objectObserved, kind: config, object: right},
		{what: objectObserved, kind: config, object: wrong},
		{what: objectObserved, kind: host, object: node},
	}
	want := []invalidOwner{
		{*host, "", "node", "n", ref}, {*config, "b", "wrong", "w", ref},
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		g := newGraph()
		var invalid []invalidOwner
		for _, i := range order {
			invalid = append(invalid, g.step(all[i]).invalid...)
		}
		slices.SortFunc(invalid, func(a, b invalidOwner) int {
			return len(a.namespace) - len(b.namespace)
		})
		require.Equal(t, want, invalid, order)
		require.Empty(t, g.step(all[2]).invalid)
	}
}

// After a restore from a backup, an object and its owner are both back. If what was absent stayed
// absent, the object would be deleted before the owner's informer lists.
func TestTheOwnerOfAnObjectThatComesBackIsAskedForAgain(t *testing.T) {
	owner := &metav1.ObjectMeta{Namespace: "a", Name: "owner", UID: "o"}
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "o"}
	dependent := &metav1.ObjectMeta{
		Namespace: "a", Name: "dependent", UID: "d", OwnerReferences: []metav1.OwnerReference{ref},
	}
	g := newGraph()
	g.step(event{what: objectObserved, kind: config, object: owner})
	g.step(event{what: objectObserved, kind: boxV1, object: dependent})
	g.step(event{what: objectEnded, kind: config, object: owner, certain: true})
	require.Equal(t, ownerAbsent, g.stateOf(ref, "a"))
	g.step(event{what: objectEnded, kind: boxV1, object: dependent, certain: true})
	todo := g.step(event{what: objectObserved, kind: boxV1, object: dependent})
	require.Equal(t, []types.UID{"o"}, todo.attempt)
	require.Equal(t, ownerUnknown, g.stateOf(ref, "a"))
}

// An owner that's deleted in the foreground waits for its dependents. A restore from a backup undoes
// the deletion of one, and the owner would wait for it forever.
func TestAnObjectWhoseDeletionWasUndoneIsJudgedAgain(t *testing.T) {
	dying := &metav1.ObjectMeta{
		Namespace: "a", Name: "it", UID: "it", DeletionTimestamp: new(metav1.Time),
	}
	alive := dying.DeepCopy()
	alive.DeletionTimestamp = nil
	g := newGraph()
	g.step(event{what: objectObserved, kind: boxV1, object: dying})
	todo := g.step(event{what: objectObserved, kind: boxV1, object: alive})
	require.Equal(t, []types.UID{"it"}, todo.attempt)
}

// The API server would be asked for each dependent of an owner that has gone, or be forgotten
// owners would grow without end.
func TestTheLastFewHundredAbsentOwnersAreRemembered(t *testing.T) {
	var absent absentOwners
	ref := func(n int) metav1.OwnerReference {
		return metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: "n", UID: types.UID(fmt.Sprint(n)),
		}
	}
	require.False(t, absent.has(ref(0), "a"))
	for n := range 3 * rememberedOwners {
		absent.add(identityOf(ref(n), "a"))
		absent.add(identityOf(ref(n), "a"))
	}
	require.Len(t, absent.known, rememberedOwners)
	require.False(t, absent.has(ref(2*rememberedOwners-1), "a"), "the oldest are forgotten")
	for n := 2 * rememberedOwners; n < 3*rememberedOwners; n++ {
		require.True(t, absent.has(ref(n), "a"))
	}
	require.False(t, absent.has(ref(3*rememberedOwners-1), "b"), "it may be there, in b")
	absent.add(identityOf(ref(1), ""))
	require.True(t, absent.has(ref(1), "b"), "an owner without a namespace is the same for all")
}
