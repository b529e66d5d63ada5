package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// The users of TestWhateverBreaksTheChildrenAreRight, and what breaks. No fault hits the users' own requests.

const (
	mirrorNamespace = "shop"
	keptFinalizer   = "example.com/kept"
)

// users makes, changes and deletes parents and children at random.
type users struct {
	t          *testing.T
	choice     *rand.Rand
	configMaps typed.ConfigMapInterface
	secrets    typed.SecretInterface
	count      func(what string)
	busy       func(parent string) bool // it is being reconciled
	step       int
}

func isParent(o client.Object) bool { _, ok := o.(*corev1.ConfigMap); return ok }

func (u *users) parentName() string { return fmt.Sprint("p", u.choice.IntN(4)) }
func (u *users) childName() string  { return u.parentName() + "-" + string("abc"[u.choice.IntN(3)]) }

// done ignores that the controller was faster.
func (u *users) done(what string, err error) {
	if err == nil {
		u.count("users " + what)
	} else if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		require.NoError(u.t, err, what)
	}
}

// act does one thing.
func (u *users) act() {
	u.step++
	name := u.parentName()
	parent, err := u.configMaps.Get(u.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && u.choice.IntN(2) == 0 {
		u.create(name)
		return
	}
	there := err == nil
	switch n := u.choice.IntN(12); {
	case n < 3 && there:
		u.fill(parent)
		_, err := u.configMaps.Update(u.t.Context(), parent, metav1.UpdateOptions{})
		u.done("change a parent", err)
	case n == 3 && there, n == 4 && there:
		if u.busy(name) {
			u.count("a parent was deleted while it was reconciled")
		}
		what := []string{"delete a parent", "replace a parent"}[n-3]
		u.done(what, u.configMaps.Delete(u.t.Context(), name, metav1.DeleteOptions{}))
		if n == 4 {
			u.create(name)
		}
	case n == 5:
		u.release()
	case n == 6:
		_, err := u.secrets.Create(u.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: u.childName()}}, metav1.CreateOptions{})
		u.done("make a child themselves", err)
	default:
		u.meddle(parent, there)
	}
}

func (u *users) create(name string) {
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	u.fill(parent)
	_, err := u.configMaps.Create(u.t.Context(), parent, metav1.CreateOptions{})
	u.done("create a parent", err)
}

// fill says at random which children there should be.
func (u *users) fill(parent *corev1.ConfigMap) {
	parent.Labels = map[string]string{mirroredLabel: []string{"yes", "yes", "yes", "no"}[u.choice.IntN(4)]}
	var children []string
	for _, child := range []string{"a", "b", "c"} {
		if u.choice.IntN(3) > 0 {
			children = append(children, child)
		}
	}
	parent.Data = map[string]string{"children": strings.Join(children, ","), "value": fmt.Sprint(u.step)}
	if parent.Finalizers = nil; u.choice.IntN(6) == 0 {
		parent.Finalizers = []string{keptFinalizer}
	}
}

// meddle does something to a child.
func (u *users) meddle(parent *corev1.ConfigMap, there bool) {
	child, err := u.secrets.Get(u.t.Context(), u.childName(), metav1.GetOptions{})
	if err != nil {
		return
	}
	what := ""
	switch u.choice.IntN(6) {
	case 0:
		u.done("delete a child", u.secrets.Delete(u.t.Context(), child.Name, metav1.DeleteOptions{}))
		return
	case 1:
		what, child.Data = "edit a child", map[string][]byte{"value": []byte("edited")}
	case 2:
		what, child.OwnerReferences = "orphan a child", nil
	case 3:
		what, child.Finalizers = "keep a child", []string{keptFinalizer}
	default:
		if !there {
			return
		}
		what = "give a child away"
		child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	}
	_, err = u.secrets.Update(u.t.Context(), child, metav1.UpdateOptions{})
	u.done(what, err)
}

// release takes all finalizers away.
func (u *users) release() {
	parents, err := u.configMaps.List(u.t.Context(), metav1.ListOptions{})
	require.NoError(u.t, err)
	for _, parent := range parents.Items {
		if len(parent.Finalizers) > 0 {
			parent.Finalizers = nil
			_, err := u.configMaps.Update(u.t.Context(), &parent, metav1.UpdateOptions{})
			u.done("release a parent", err)
		}
	}
	children, err := u.secrets.List(u.t.Context(), metav1.ListOptions{})
	require.NoError(u.t, err)
	for _, child := range children.Items {
		if len(child.Finalizers) > 0 {
			child.Finalizers = nil
			_, err := u.secrets.Update(u.t.Context(), &child, metav1.UpdateOptions{})
			u.done("release a child", err)
		}
	}
}

// kept reports whether there is a finalizer left.
func (u *users) kept() bool {
	parents, err := u.configMaps.List(u.t.Context(), metav1.ListOptions{})
	require.NoError(u.t, err)
	children, err := u.secrets.List(u.t.Context(), metav1.ListOptions{})
	require.NoError(u.t, err)
	return slices.ContainsFunc(parents.Items, func(o corev1.ConfigMap) bool { return len(o.Finalizers) > 0 }) ||
		slices.ContainsFunc(children.Items, func(o corev1.Secret) bool { return len(o.Finalizers) > 0 })
}

// right is what there should be, and real is what there is: each child with its value and its owner.
func (u *users) compare() (right, real []string) {
	right, real = []string{}, []string{}
	parents, err := u.configMaps.List(u.t.Context(), metav1.ListOptions{})
	require.NoError(u.t, err)
	for _, parent := range parents.Items {
		for _, name := range childrenOf(&parent) {
			right = append(right, fmt.Sprintf("%s says %q for %s", name, parent.Data["value"], parent.UID))
		}
	}
	children, err := u.secrets.List(u.t.Context(), metav1.ListOptions{})
	require.NoError(u.t, err)
	for _, child := range children.Items {
		if owner := metav1.GetControllerOf(&child); owner != nil {
			real = append(real, fmt.Sprintf("%s says %q for %s", child.Name, child.Data["value"], owner.UID))
		}
	}
	return right, real
}

// A mishap is something that goes wrong with the requests of the mirror.
type mishap struct {
	name  string
	fault fakeapi.Fault
}

func somethingGoesWrong(choice *rand.Rand) mishap {
	write := fakeapi.Match{Verb: []string{"create", "update", "delete"}[choice.IntN(3)]}
	read := fakeapi.Match{Verb: []string{"list", "watch"}[choice.IntN(2)]}
	watch := fakeapi.Match{Verb: "watch"}
	often := []float64{0.1, 0.3, 0.6}[choice.IntN(3)]
	all := []mishap{
		{"refused", fakeapi.Fault{Probability: often, Refuse: true}},
		{"answer lost", fakeapi.Fault{Probability: often, LoseResponse: true}},
		{"answer to a write lost", fakeapi.Fault{Match: write, Probability: often, LoseResponse: true}},
		{"conflict", fakeapi.Fault{Match: write, Probability: often, Status: fakeapi.Conflict()}},
		{"expired", fakeapi.Fault{Match: read, Probability: often, Status: fakeapi.Expired()}},
		{"too many requests", fakeapi.Fault{Probability: often, Status: fakeapi.TooManyRequests(int32(choice.IntN(3)))}},
		{"internal error", fakeapi.Fault{Probability: often, Status: fakeapi.InternalError()}},
		{"unavailable", fakeapi.Fault{Probability: often, Status: fakeapi.Unavailable()}},
		{"time-out", fakeapi.Fault{Match: write, Probability: often, Status: fakeapi.Timeout()}},
		{"slow", fakeapi.Fault{Probability: often, Delay: time.Duration(choice.IntN(5000)) * time.Millisecond}},
		{"slow write", fakeapi.Fault{Match: write, Probability: often, Delay: time.Duration(choice.IntN(5000)) * time.Millisecond}},
		{"no answer", fakeapi.Fault{Probability: often, Times: 2, Hang: true}},
		{"watch cut", fakeapi.Fault{Match: watch, CutAfterEvents: 1 + choice.IntN(4), CutAbruptly: choice.IntN(2) == 0}},
		{"watch cut in time", fakeapi.Fault{Match: watch, CutAfter: time.Duration(1+choice.IntN(20)) * time.Second, CutAbruptly: choice.IntN(2) == 0}},
		{"watch late", fakeapi.Fault{Match: watch, DelayEvents: time.Duration(choice.IntN(3000)) * time.Millisecond}},
		{"list stale", fakeapi.Fault{Match: fakeapi.Match{Verb: "list"}, Probability: often, Stale: uint64(1 + choice.IntN(10))}},
		{"no WatchList", fakeapi.Fault{Match: watch, NoWatchList: true}},
		{"no end of the initial events", fakeapi.Fault{Match: watch, NoInitialEventsEnd: true}},
	}
	return all[choice.IntN(len(all))]
}
