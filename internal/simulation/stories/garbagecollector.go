package stories

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// GarbageCollector is the story of ConfigMaps and Secrets that own each other. Users create objects
// whose owners are alive, gone or in another namespace, adopt, disown, and delete with every policy,
// and other finalizers keep some objects for a while. On the way, the collector must delete no object
// that has a living owner, and let no owner go that waits for a dependent. In the end, nothing may be
// left that has only absent owners, and nothing may wait.
func GarbageCollector(collector simulation.Process) simulation.Story {
	return simulation.Story{
		Name: "garbagecollector", Seeds: 60, Short: 15, Race: 10,
		Controllers: collector, Steps: 15,
		Mishaps: garbageMishaps, Crashes: garbageCrashes, Cast: castGarbage,
		Least: map[string]int{
			"crash":                         55,
			"crash after delete configmaps": 10,
			"crash after patch configmaps":  20,
			"fault: answer to a write lost": 22,
			"fault: a question fails":       231,
			"fault: refused":                24,
			"fault: watch late":             948,
			"fault: watch cut":              755,
			"user: create":                  819,
			"user: Background":              90,
			"user: Foreground":              105,
			"user: Orphan":                  85,
			"user: adopt":                   84,
			"user: disown":                  82,
			"collected":                     216,
			"orphaned":                      189,
			"waited for":                    69,
			"mishap: compaction":            68,
			"mishap: crash":                 178,
			"mishap: stale views":           10,
			"mishap: missed states":         9,
			"mishap: time travel":           11,
			"mishap: two at once":           14,
			"mishap: clocks":                9,
			"mishap: wrong answer":          8,
			"mishap: wrong answers":         23,
		},
	}
}

// garbageCrashes are the writes after which the process may die.
var garbageCrashes = []fakeapi.Match{
	{Verb: "delete", Resource: "configmaps"}, {Verb: "update|patch", Resource: "configmaps"},
	{Verb: "delete", Resource: "secrets"}, {Verb: "update|patch", Resource: "secrets"},
}

// garbageMishaps are those that are hardest for a garbage collector.
func garbageMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	resource := []string{"configmaps", "secrets"}[random.IntN(2)]
	lostDelete := lost("answer to a write lost", on("delete", resource), often)
	lostPatch := lost("answer to a write lost", on("update|patch", resource), often)
	slow := late("watch late", resource, milliseconds(random, 2000))
	question := on("get", resource)
	return []simulation.Mishap{
		lostDelete, lostDelete, lostPatch, lostPatch, slow, slow,
		fails("a question fails", question, often, fakeapi.InternalError()),
		fails("a question fails", question, often, fakeapi.Forbidden()),
		fails("a question fails", question, often, fakeapi.Timeout()),
	}
}

// owners are users of objects that own each other.
type owners struct {
	*simulation.World
	made []client.Object // all that users have ever created
}

func castGarbage(w *simulation.World) simulation.Cast {
	s := &owners{World: w}
	return simulation.Cast{
		Begin: func() {
			s.Server.ServeOnly("configmaps", "secrets", "namespaces", "deployments", "events")
			s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
			s.Watch(&corev1.ConfigMapList{}, &corev1.SecretList{})
			for range 4 {
				s.create()
			}
		},
		Act: func() {
			for range 1 + s.Users.IntN(3) {
				s.act()
			}
		},
		Last: func() {
			for _, object := range s.made {
				s.free(object)
			}
		},
		State: s.state, Judge: s.JudgeGarbage,
	}
}

// act lets a user do something.
func (s *owners) act() {
	what, which := s.Users.IntN(10), s.made[s.Users.IntN(len(s.made))]
	which = which.DeepCopyObject().(client.Object)
	policy := []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan,
	}[s.Users.IntN(3)]
	ref := s.reference()
	switch what {
	case 0, 1, 2, 3:
		s.create()
	case 4, 5, 6:
		uid := which.GetUID()
		s.UserDeletes(uid, policy)
		s.OthersDid(s.Live.Delete(s.T.Context(), which, client.PropagationPolicy(policy),
			client.Preconditions{UID: &uid}), "user: "+string(policy), which.GetName())
	case 7:
		s.change("user: adopt", which, func(object client.Object) {
			refs := object.GetOwnerReferences()
			if !refersTo(refs, ref.UID) && object.GetUID() != ref.UID {
				object.SetOwnerReferences(append(refs, ref))
			}
		})
	case 8:
		s.change("user: disown", which, func(object client.Object) {
			refs := object.GetOwnerReferences()
			object.SetOwnerReferences(refs[:len(refs)/2])
		})
	case 9:
		s.free(which)
	}
}

// create creates an object with up to two owners.
func (s *owners) create() {
	meta := metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("n", len(s.made))}
	if s.Users.IntN(8) == 0 {
		meta.Namespace = "other"
	}
	if s.Users.IntN(5) == 0 {
		meta.Finalizers = []string{"example.com/slow"}
	}
	for range s.Users.IntN(3) {
		if ref := s.reference(); ref.UID != "" && !refersTo(meta.OwnerReferences, ref.UID) {
			meta.OwnerReferences = append(meta.OwnerReferences, ref)
		}
	}
	var object client.Object = &corev1.ConfigMap{ObjectMeta: meta}
	if s.Users.IntN(3) == 0 {
		object = &corev1.Secret{ObjectMeta: meta}
	}
	require.NoError(s.T, s.Live.Create(s.T.Context(), object))
	s.Count("user: create")
	s.made = append(s.made, object)
}

// reference refers to any object that was ever there.
func (s *owners) reference() metav1.OwnerReference {
	if len(s.made) == 0 {
		return metav1.OwnerReference{}
	}
	owner, kind := s.made[s.Users.IntN(len(s.made))], "ConfigMap"
	if _, isSecret := owner.(*corev1.Secret); isSecret {
		kind = "Secret"
	}
	return metav1.OwnerReference{
		APIVersion: "v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(),
		BlockOwnerDeletion: new(s.Users.IntN(4) > 0),
	}
}

func refersTo(refs []metav1.OwnerReference, uid types.UID) bool {
	return slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool { return ref.UID == uid })
}

// change lets a user change an object, if it is still there.
func (s *owners) change(what string, object client.Object, how func(client.Object)) {
	uid := object.GetUID()
	err := s.Live.Get(s.T.Context(), client.ObjectKeyFromObject(object), object)
	if err == nil && object.GetUID() == uid {
		how(object)
		err = s.Live.Update(s.T.Context(), object)
	}
	s.OthersDid(err, what, object.GetName())
}

// free removes a user's finalizer.
func (s *owners) free(object client.Object) {
	object = object.DeepCopyObject().(client.Object)
	s.change("user: free", object, func(object client.Object) {
		object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(f string) bool {
			return f == "example.com/slow"
		}))
	})
}

// isOwnerOf reports whether an object is the owner that an object in a namespace refers to.
func isOwnerOf(object client.Object, ref metav1.OwnerReference, namespace string) bool {
	return object.GetUID() == ref.UID && object.GetNamespace() == namespace
}

// state returns what is wrong in the end: garbage, and what waits.
func (s *owners) state() string {
	var all []client.Object
	var maps corev1.ConfigMapList
	var secrets corev1.SecretList
	require.NoError(s.T, s.Live.List(s.T.Context(), &maps))
	require.NoError(s.T, s.Live.List(s.T.Context(), &secrets))
	for i := range maps.Items {
		all = append(all, &maps.Items[i])
	}
	for i := range secrets.Items {
		all = append(all, &secrets.Items[i])
	}
	wrong := []string{"wrong in the end:"}
	for _, object := range all {
		if object.GetDeletionTimestamp() != nil {
			wrong = append(wrong, object.GetName()+" waits for "+fmt.Sprint(object.GetFinalizers()))
		}
		for _, ref := range object.GetOwnerReferences() {
			if !slices.ContainsFunc(all, func(owner client.Object) bool {
				return isOwnerOf(owner, ref, object.GetNamespace())
			}) {
				wrong = append(wrong, object.GetName()+" has an absent owner: "+ref.Name)
			}
		}
	}
	if len(wrong) > 1 {
		s.Breaks(simulation.ActedOn, time.Now(), "%s", strings.Join(wrong, "; "))
	}
	return strings.Join(wrong, "\n")
}
