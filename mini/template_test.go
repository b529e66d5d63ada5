package mini_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/retry"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

var web = mini.Request{Namespace: "default", Name: "web"}

// deployment returns one with an image, whose Pods take their time to end.
func deployment(replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
				Spec: corev1.PodSpec{
					NodeName:   "node",
					Containers: []corev1.Container{{Name: "c", Image: "v1"}},
				},
			},
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func image(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func fenceposts(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable)),
			},
		}
	}
}

// rolloutWorld is a world with the Deployment web, the controllers of ReplicaSets and
// Deployments, and a kubelet.
type rolloutWorld struct {
	*world
	Manager *mini.Manager

	mu           sync.Mutex // guards all below
	pods         map[mini.Request]*corev1.Pod
	most, fewest int  // live Pods and ready ones, since watch was called
	mixed        bool // Pods of two images were there at one time, even if one was ending
}

// inRollout runs a test in such a world. A Pod is ready after a second, unless its image
// begins with "bad", and ends 5 seconds after its deletion.
func inRollout(
	t *testing.T, controller func(*mini.Manager) (*mini.Controller, error), test func(w *rolloutWorld),
) {
	t.Helper()
	inMemory(t, func(world *world) {
		w := &rolloutWorld{
			world: world, Manager: mini.NewManager(world.Cluster), pods: map[mini.Request]*corev1.Pod{},
		}
		for _, add := range []func(*mini.Manager) (*mini.Controller, error){
			mini.NewReplicaSetController, controller,
		} {
			c, err := add(w.Manager)
			require.NoError(w, err)
			w.Manager.AddController(c)
		}
		kubelet := mini.NewCache(w.Cluster)
		pods, err := kubelet.Informer(&corev1.Pod{})
		require.NoError(w, err)
		pods.AddHandler(w.kubelet)
		w.run(kubelet.Run)
		w.run(w.Manager.Run)
		test(w)
	})
}

// controllerOf returns a controller with all watches that a rollout needs.
func controllerOf(
	reconcile func(*mini.Deployments, context.Context, mini.Request) (mini.Result, error),
) func(*mini.Manager) (*mini.Controller, error) {
	return func(m *mini.Manager) (*mini.Controller, error) {
		d := &mini.Deployments{Client: m.Client}
		c := mini.NewController("deployment", mini.ReconcilerFunc(
			func(ctx context.Context, req mini.Request) (mini.Result, error) {
				return reconcile(d, ctx, req)
			}))
		for _, like := range []mini.Object{
			&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{},
		} {
			informer, err := m.Cache.Informer(like)
			if err != nil {
				return nil, err
			}
			c.Watch(informer, func(mini.Change) []mini.Request { return []mini.Request{web} })
		}
		return c, nil
	}
}

// kubelet sees all changes of Pods in order. It counts, and does its work later.
func (w *rolloutWorld) kubelet(change mini.Change) {
	pod := change.Object().(*corev1.Pod)
	w.mu.Lock()
	if change.New == nil {
		delete(w.pods, mini.KeyOf(pod))
	} else {
		w.pods[mini.KeyOf(pod)] = pod
	}
	w.countLocked()
	w.mu.Unlock()
	after := func(d time.Duration, do func() error) {
		w.running.Go(func() {
			select {
			case <-time.After(d):
			case <-w.ctx.Done():
				return
			}
			err := do()
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && w.ctx.Err() == nil {
				w.Errorf("kubelet: %v", err)
			}
		})
	}
	api := w.Other.CoreV1().Pods(pod.Namespace)
	switch {
	case change.New == nil:
	case pod.DeletionTimestamp != nil && (change.Old == nil || change.Old.GetDeletionTimestamp() == nil):
		after(5*time.Second, func() error {
			return api.Delete(w.ctx, pod.Name, metav1.DeleteOptions{ // and no other Pod with its name
				GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
			})
		})
	case change.Old == nil && !strings.HasPrefix(pod.Spec.Containers[0].Image, "bad"):
		after(time.Second, func() error {
			return retry.RetryOnConflict(retry.DefaultRetry, func() error { // it may be bound at this moment
				pod, err := api.Get(w.ctx, pod.Name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				}}
				_, err = api.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
				return err
			})
		})
	}
}

func (w *rolloutWorld) countLocked() {
	live, ready, images := 0, 0, map[string]bool{}
	for _, pod := range w.pods {
		if pod.Status.Phase == corev1.PodFailed {
			continue
		}
		images[pod.Spec.Containers[0].Image] = true
		if pod.DeletionTimestamp == nil {
			live++
			if isReady(pod) {
				ready++
			}
		}
	}
	w.most, w.fewest = max(w.most, live), min(w.fewest, ready)
	w.mixed = w.mixed || len(images) > 1
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// watch begins to count again.
func (w *rolloutWorld) watch() {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most, w.fewest, w.mixed = 0, 1000, false
	w.countLocked()
}

// counted waits, and returns the most live Pods and the fewest ready ones since watch.
func (w *rolloutWorld) counted(wait time.Duration) (most, fewest int) {
	time.Sleep(wait)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most, w.fewest
}

// ready returns how many Pods of each image are ready.
func (w *rolloutWorld) ready() map[string]int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]int{}
	for _, pod := range w.pods {
		if pod.DeletionTimestamp == nil && isReady(pod) {
			all[pod.Spec.Containers[0].Image]++
		}
	}
	return all
}

// create creates the Deployment, and waits until its Pods are ready.
func (w *rolloutWorld) create(d *appsv1.Deployment) {
	w.Helper()
	_, err := w.Other.AppsV1().Deployments(d.Namespace).Create(w.ctx, d, metav1.CreateOptions{})
	require.NoError(w, err)
	time.Sleep(20 * time.Second)
	synctest.Wait()
}

// get returns the Deployment.
func (w *rolloutWorld) get() *appsv1.Deployment {
	w.Helper()
	synctest.Wait()
	d, err := w.Other.AppsV1().Deployments(web.Namespace).Get(w.ctx, web.Name, metav1.GetOptions{})
	require.NoError(w, err)
	return d
}

// change changes the Deployment, as a user does with kubectl.
func (w *rolloutWorld) change(changes ...func(*appsv1.Deployment)) {
	w.Helper()
	for {
		d := w.get()
		for _, change := range changes {
			change(d)
		}
		_, err := w.Other.AppsV1().Deployments(web.Namespace).Update(w.ctx, d, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			continue
		}
		require.NoError(w, err)
		return
	}
}

// sets returns the Deployment's ReplicaSets by their image. Two of one image fail the test.
func (w *rolloutWorld) sets() map[string]*appsv1.ReplicaSet {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.AppsV1().ReplicaSets(web.Namespace).List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	all := map[string]*appsv1.ReplicaSet{}
	for _, rs := range list.Items {
		if owner := metav1.GetControllerOf(&rs); owner == nil || owner.Name != web.Name {
			continue
		}
		image := rs.Spec.Template.Spec.Containers[0].Image
		require.NotContains(w, all, image, "two ReplicaSets have one template")
		all[image] = &rs
	}
	return all
}

// sizes returns how many Pods each ReplicaSet asks for, by its image.
func (w *rolloutWorld) sizes() map[string]int32 {
	w.Helper()
	all := map[string]int32{}
	for image, rs := range w.sets() {
		all[image] = *rs.Spec.Replicas
	}
	return all
}

var replaceAll = controllerOf((*mini.Deployments).ReplaceAll)

// idle leaves the work to the test, which calls the Reconciler.
var idle = controllerOf(func(*mini.Deployments, context.Context, mini.Request) (mini.Result, error) {
	return mini.Result{}, nil
})

// Function: EqualIgnoreHash
func TestTemplatesAreEqualWhateverTheirHash(t *testing.T) {
	a, b := deployment(1).Spec.Template, deployment(1).Spec.Template
	a.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "abc"
	b.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "def"
	require.True(t, mini.EqualIgnoreHash(&a, &b), "the hash is the controller's, not the user's")
	require.Equal(t, "abc", a.Labels[appsv1.DefaultDeploymentUniqueLabelKey],
		"comparing must not change the ReplicaSet's template")
	require.Equal(t, "def", b.Labels[appsv1.DefaultDeploymentUniqueLabelKey])
	b.Spec.Containers[0].Image = "v2"
	require.False(t, mini.EqualIgnoreHash(&a, &b))
	b = deployment(1).Spec.Template
	b.Labels["tier"] = "front"
	require.False(t, mini.EqualIgnoreHash(&a, &b), "other labels make other Pods")
}

func TestAHashIsAName(t *testing.T) {
	one, two := deployment(1).Spec.Template, deployment(1, image("v2")).Spec.Template
	hash := mini.ComputeHash(&one, nil)
	require.Equal(t, hash, mini.ComputeHash(one.DeepCopy(), nil), "the name has to be the same each time")
	require.Empty(t, validation.IsDNS1123Label("web-"+hash), "it's part of the ReplicaSet's name")
	require.NotEqual(t, hash, mini.ComputeHash(&two, nil))
	require.NotEqual(t, hash, mini.ComputeHash(&one, new(int32(1))), "a collision needs another name")
	require.NotEqual(t, mini.ComputeHash(&one, new(int32(1))), mini.ComputeHash(&one, new(int32(2))))
}

func TestARevisionIsANumber(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{{"12", 12}, {"", 0}, {"new", 0}} {
		rs := &appsv1.ReplicaSet{}
		rs.Annotations = map[string]string{mini.RevisionAnnotation: c.text}
		require.Equal(t, c.want, mini.Revision(rs), "revision 12 comes after revision 2")
	}
}

// Function: FindNewReplicaSet
func TestTheNewReplicaSetIsTheOneWithTheTemplate(t *testing.T) {
	now := metav1.Now()
	set := func(name, image string, age time.Duration) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{}
		rs.Name = name
		rs.CreationTimestamp = metav1.NewTime(now.Add(-age))
		rs.Spec.Template = deployment(1, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = image
		}).Spec.Template
		rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = name
		return rs
	}
	a, b := set("a", "v2", time.Minute), set("b", "v1", 2*time.Minute)
	c, d := set("c", "v1", time.Minute), set("d", "v3", 3*time.Minute)
	e := set("e", "v4", time.Minute)
	all := []*appsv1.ReplicaSet{a, b, c, d, e} // sorted by name, as the client returns them
	newRS, oldRSs := mini.FindNewReplicaSet(deployment(1), all)
	require.NotNil(t, newRS, "b and c have the template")
	require.Equal(t, "b", newRS.Name, "of two, it's the older one")
	require.Equal(t, []string{"d", "a", "c", "e"}, names(oldRSs),
		"all others are old, the oldest first; those of the same age are in the order of their names")
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, names(all), "the list belongs to the caller")
	newRS, oldRSs = mini.FindNewReplicaSet(deployment(1, image("v5")), all)
	require.Nil(t, newRS, "none has the template")
	require.Equal(t, []string{"d", "b", "a", "c", "e"}, names(oldRSs))
}

func TestATemplateGetsAReplicaSet(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.create(deployment(3, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 2 }))
		d, rs := w.get(), w.sets()["v1"]
		require.NotNil(w, rs, "there is no ReplicaSet for the template")
		require.EqualValues(w, 3, *rs.Spec.Replicas)
		require.True(w, metav1.IsControlledBy(rs, d), "without an owner it is never deleted")
		hash := rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		require.NotEmpty(w, hash)
		require.Equal(w, "web", rs.Labels["app"], "the Deployment would release what its selector does not match")
		require.Equal(w, map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: hash},
			rs.Spec.Selector.MatchLabels, "without the hash it would claim the Pods of all other templates")
		require.Equal(w, hash, rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey])
		require.EqualValues(w, 1, mini.Revision(rs))
		require.EqualValues(w, 2, rs.Spec.MinReadySeconds)
		require.Equal(w, map[string]int{"v1": 3}, w.ready())
		require.NotContains(w, d.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey,
			"the Deployment's template belongs to the user")
		w.change(replicas(5), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 4 })
		require.EqualValues(w, 5, *w.sets()["v1"].Spec.Replicas)
		require.EqualValues(w, 4, w.sets()["v1"].Spec.MinReadySeconds)
		require.Equal(w, rs.UID, w.sets()["v1"].UID)
	})
}

// A process may die after any write: what it leaves must be right as it is.
func TestANewReplicaSetIsCompleteBeforeItHasPods(t *testing.T) {
	inRollout(t, idle, func(w *rolloutWorld) {
		w.create(deployment(3, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 2 }))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "replicasets"}, Status: fakeapi.Forbidden(),
		})
		c := &mini.Deployments{Client: w.Manager.Client}
		w.Server.ForgetRequests()
		_, _ = c.ReplaceAll(w.ctx, web)
		require.Zero(w, w.requestsTo("get", "replicasets"), "the name was free: there is nothing to look up")
		rs := w.sets()["v1"]
		require.EqualValues(w, 1, mini.Revision(rs), "kubectl rollout history would not show it")
		require.EqualValues(w, 2, rs.Spec.MinReadySeconds, "its Pods would count as available at once")
		if *rs.Spec.Replicas != 3 { // a solution may know the size at once
			require.Zero(w, *rs.Spec.Replicas, "the strategy decides how many Pods there may be")
		}
	})
}

// Function: Deployments.ReplaceAll
func TestReplacingAllPodsAtOnceIsAnOutage(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.create(deployment(3))
		w.watch()
		w.change(image("v2"))
		_, fewest := w.counted(time.Minute)
		require.Zero(w, fewest, "the next chapter repairs this")
		require.Equal(w, map[string]int{"v2": 3}, w.ready())
		require.Equal(w, map[string]int32{"v1": 0, "v2": 3}, w.sizes(), "the old one is kept for a rollback")
		require.EqualValues(w, 2, mini.Revision(w.sets()["v2"]))
	})
}

func TestReturningToATemplateFindsItsReplicaSet(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.create(deployment(2))
		first := w.sets()["v1"]
		w.change(image("v2"))
		w.change(image("v3"))
		w.change(image("v1"))
		time.Sleep(time.Minute)
		require.Equal(w, first.UID, w.sets()["v1"].UID)
		require.Equal(w, map[string]int32{"v1": 2, "v2": 0, "v3": 0}, w.sizes())
		require.EqualValues(w, 4, mini.Revision(w.sets()["v1"]), "the template that was rolled out last has the highest revision")
		require.EqualValues(w, 3, mini.Revision(w.sets()["v3"]))
	})
}

// Function: Deployments.getNewReplicaSet
func TestARevisionNeverFalls(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.create(deployment(1))
		w.change(image("v2"))
		w.change(image("v3"))
		for _, image := range []string{"v1", "v2"} {
			require.NoError(w, w.Other.AppsV1().ReplicaSets("default").Delete(
				w.ctx, w.sets()[image].Name, metav1.DeleteOptions{}))
		}
		w.change(replicas(2))
		require.EqualValues(w, 3, mini.Revision(w.sets()["v3"]))
	})
}

func TestAnnotationsOfTheDeploymentAreCopied(t *testing.T) {
	const cause = "kubernetes.io/change-cause"
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.create(deployment(1, func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{
				cause: "first", corev1.LastAppliedConfigAnnotation: "{}", mini.RevisionAnnotation: "7",
			}
		}))
		rs := w.sets()["v1"]
		require.Equal(w, "first", rs.Annotations[cause], "kubectl rollout history shows it")
		require.NotContains(w, rs.Annotations, corev1.LastAppliedConfigAnnotation,
			"kubectl apply would take the ReplicaSet for the object that it has applied")
		require.EqualValues(w, 1, mini.Revision(rs))
		w.change(func(d *appsv1.Deployment) { d.Annotations[cause] = "second" })
		require.Equal(w, "second", w.sets()["v1"].Annotations[cause])
	})
}

func TestWhatIsRightIsNotWrittenAgain(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.create(deployment(1))
		w.change(image("v2"))
		time.Sleep(time.Minute)
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Status: fakeapi.Forbidden()})
		c := &mini.Deployments{Client: w.Manager.Client}
		_, err := c.ReplaceAll(w.ctx, web)
		require.NoError(w, err, "each reconcile would cost the API server a write")
	})
}

func TestAnOrphanWithTheTemplateIsAdopted(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		d := deployment(2)
		orphan := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "orphan", Labels: d.Spec.Template.Labels},
			Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: d.Spec.Selector, Template: d.Spec.Template},
		}
		for _, namespace := range []string{"default", "kube-system"} {
			orphan.Namespace = namespace
			_, err := w.Other.AppsV1().ReplicaSets(namespace).Create(w.ctx, orphan, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		synctest.Wait() // the controller has seen them
		w.create(d)
		rs := w.sets()["v1"]
		require.Equal(w, "orphan", rs.Name, "whoever made it, its Pods are the right ones")
		require.True(w, metav1.IsControlledBy(rs, w.get()))
		require.EqualValues(w, 2, *rs.Spec.Replicas)
		far, err := w.Other.AppsV1().ReplicaSets("kube-system").Get(w.ctx, "orphan", metav1.GetOptions{})
		require.NoError(w, err)
		require.Empty(w, far.OwnerReferences, "an owner is in the namespace of what it owns")
	})
}

func TestALostAnswerIsNotACollision(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "replicasets"}, Times: 1, LoseResponse: true,
		})
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "replicasets"}, DelayEvents: time.Second,
		})
		w.create(deployment(2))
		require.Len(w, w.sets(), 1, "the first one was created, although no answer came")
		require.EqualValues(w, 2, w.sizes()["v1"])
		require.Nil(w, w.get().Status.CollisionCount)
	})
}

// Function: Deployments.nameIsTaken
func TestATakenNameIsNotTheEnd(t *testing.T) {
	inRollout(t, idle, func(w *rolloutWorld) {
		w.create(deployment(2))
		d := w.get()
		name := func(collisions *int32) string {
			return "web-" + mini.ComputeHash(&d.Spec.Template, collisions)
		}
		stranger := &appsv1.ReplicaSet{ // with the same template, but not ours
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name(nil)},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: new(int32(0)), Selector: d.Spec.Selector, Template: d.Spec.Template,
			},
		}
		ours := stranger.DeepCopy() // with the same hash, but another template
		ours.Name, ours.Labels = name(new(int32(1))), d.Spec.Template.Labels
		kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
		ours.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)}
		ours.Spec.Template.Spec.Containers[0].Image = "v3"
		for _, rs := range []*appsv1.ReplicaSet{stranger, ours} {
			_, err := w.Other.AppsV1().ReplicaSets("default").Create(w.ctx, rs, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		time.Sleep(time.Second)
		c := &mini.Deployments{Client: w.Manager.Client}
		for collisions := range int32(2) {
			_, err := c.ReplaceAll(w.ctx, web)
			require.True(w, apierrors.IsAlreadyExists(err), "the controller has to try again: %v", err)
			require.NotNil(w, w.get().Status.CollisionCount, "the next try would meet the same name")
			require.Equal(w, collisions+1, *w.get().Status.CollisionCount,
				"the first name is taken by a stranger, the second by another template")
		}
		var err error
		for range 3 { // the controller of ReplicaSets may write at the same time
			_, err = c.ReplaceAll(w.ctx, web)
			time.Sleep(time.Second)
		}
		require.NoError(w, err, "the third name is free")
		require.Equal(w, map[string]int32{"v1": 2, "v3": 0}, w.sizes(), "the third name is free")
	})
}

// A user has deleted the Deployment and created it again. The ReplicaSet of the first one still has the name, and waits for the garbage
// collector. A reference with the same name proves nothing: whoever takes that ReplicaSet for the new one waits, too.
//
// Function: Deployments.nameIsTaken
func TestAReplicaSetOfADeletedDeploymentOfTheSameNameIsNotOurs(t *testing.T) {
	inRollout(t, idle, func(w *rolloutWorld) {
		w.create(deployment(2))
		d := w.get()
		first := d.DeepCopy()
		first.UID = "the-first"
		kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
		_, err := w.Other.AppsV1().ReplicaSets("default").Create(w.ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Name: "web-" + mini.ComputeHash(&d.Spec.Template, nil), Labels: d.Spec.Template.Labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(first, kind)},
			},
			Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Selector: d.Spec.Selector, Template: d.Spec.Template},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		time.Sleep(time.Second)
		c := &mini.Deployments{Client: w.Manager.Client}
		_, err = c.ReplaceAll(w.ctx, web)
		require.True(w, apierrors.IsAlreadyExists(err), "%v", err)
		require.EqualValues(w, new(int32(1)), w.get().Status.CollisionCount, "the next try would meet the same name")
	})
}

// The ReplicaSet that had the name is deleted at that moment. Then the name is free, and there's no collision to count.
//
// Function: Deployments.nameIsTaken
func TestANameThatIsFreeAgainIsNoCollision(t *testing.T) {
	inRollout(t, idle, func(w *rolloutWorld) {
		w.create(deployment(2))
		taken := apierrors.NewAlreadyExists(appsv1.Resource("replicasets"), "web-1").Status()
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "replicasets"}, Times: 1, Status: &taken,
		})
		c := &mini.Deployments{Client: w.Manager.Client}
		_, err := c.ReplaceAll(w.ctx, web)
		require.True(w, apierrors.IsAlreadyExists(err), "%v", err)
		require.Nil(w, w.get().Status.CollisionCount)
		for range 3 { // the controller of ReplicaSets may write at the same time
			_, err = c.ReplaceAll(w.ctx, web)
			time.Sleep(time.Second)
		}
		require.NoError(w, err)
		require.Equal(w, map[string]int32{"v1": 2}, w.sizes())
	})
}

// Function: Deployments.ReplaceAll
func TestADeploymentThatIsBeingDeletedGetsNoReplicaSet(t *testing.T) {
	inRollout(t, replaceAll, func(w *rolloutWorld) {
		w.create(deployment(1, func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/wait"} }))
		require.NoError(w, w.Other.AppsV1().Deployments("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		w.change(image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 1}, w.sizes(), "the garbage collector would have to find it again")
		w.change(func(d *appsv1.Deployment) { d.Finalizers = nil })
		time.Sleep(time.Minute)
		d := &mini.Deployments{Client: w.Manager.Client}
		_, err := d.ReplaceAll(w.ctx, web)
		require.NoError(w, err, "a deleted Deployment isn't a failure")
	})
}

// Not being able to read the Deployment doesn't mean that it's complete.
//
// Function: Deployments.ReplaceAll
func TestADeploymentThatCannotBeReadIsAFailure(t *testing.T) {
	for _, resource := range []string{"deployments", "replicasets"} {
		inMemory(t, func(w *world) {
			w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true})
			_, err := w.Other.AppsV1().Deployments("default").Create(w.ctx, deployment(1), metav1.CreateOptions{})
			require.NoError(w, err)
			m := mini.NewManager(w.Cluster)
			c, err := idle(m)
			require.NoError(w, err)
			m.AddController(c)
			w.run(m.Run)
			impatient, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			_, err = (&mini.Deployments{Client: m.Client}).ReplaceAll(impatient, web)
			require.Error(w, err, resource)
		})
	}
	inMemory(t, func(w *world) { // the API server refuses it, so this does not happen
		d := deployment(1)
		d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}
		_, err := w.Server.Load(appsv1.SchemeGroupVersion.WithResource("deployments"), d)
		require.NoError(w, err)
		w.createReplicaSet(replicaSet("other", 0))
		m := mini.NewManager(w.Cluster)
		c, err := idle(m)
		require.NoError(w, err)
		m.AddController(c)
		w.run(m.Run)
		_, err = (&mini.Deployments{Client: m.Client}).ReplaceAll(w.ctx, web)
		require.Error(w, err, "the selector is invalid")
		require.Empty(w, (&rolloutWorld{world: w}).sets())
	})
}

func TestAFailureIsReported(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "create", Resource: "replicasets"}, {Verb: "update", Resource: "replicasets"},
		{Verb: "patch", Resource: "replicasets"}, // the adoption
		{Verb: "get", Resource: "replicasets"}, {Verb: "update", Resource: "deployments"},
	} {
		inRollout(t, idle, func(w *rolloutWorld) {
			w.create(deployment(2, image("v2")))
			other := func(name string, template corev1.PodTemplateSpec, labels map[string]string) {
				_, err := w.Other.AppsV1().ReplicaSets("default").Create(w.ctx, &appsv1.ReplicaSet{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
					Spec: appsv1.ReplicaSetSpec{
						Replicas: new(int32(1)), Selector: w.get().Spec.Selector, Template: template,
					},
				}, metav1.CreateOptions{})
				require.NoError(w, err)
			}
			v1, v2 := deployment(1).Spec.Template, w.get().Spec.Template
			other("orphan", v1, v1.Labels)
			other("web-"+mini.ComputeHash(&v2, nil), v2, nil) // a stranger has the name
			c := &mini.Deployments{Client: w.Manager.Client}
			replace := func() error {
				time.Sleep(time.Minute)
				_, err := c.ReplaceAll(w.ctx, web)
				return err
			}
			lift := w.Server.Inject(fakeapi.Fault{Match: match, Status: fakeapi.Forbidden()})
			forbidden := "" // the first errors may be about the name that is taken
			for range 3 {
				err := replace()
				require.Error(w, err, "it gave up silently: %s %s", match.Verb, match.Resource)
				forbidden += err.Error()
			}
			require.Contains(w, forbidden, "injected fault", "the error is lost: %s %s", match.Verb, match.Resource)
			lift()
			for range 3 {
				_ = replace()
			}
			require.Equal(w, map[string]int32{"v1": 0, "v2": 2}, w.sizes(), "%s was not tried again", match.Verb)
		})
	}
}

// Restored from a backup, dozens of ReplicaSets may have been created in the same second. In which order they are then mustn't change
// from one reconcile to the next.
//
// Function: FindNewReplicaSet
func TestReplicaSetsOfTheSameSecondStayInTheirOrder(t *testing.T) {
	second := metav1.Now().Rfc3339Copy()
	var all []*appsv1.ReplicaSet
	var older, younger []string
	for i := range 50 {
		rs := &appsv1.ReplicaSet{}
		rs.Name, rs.CreationTimestamp = fmt.Sprintf("web-%02d", i), second
		rs.Spec.Template = deployment(1, image("v1")).Spec.Template
		if i%2 == 0 {
			rs.CreationTimestamp = metav1.NewTime(second.Add(-time.Minute))
			older = append(older, rs.Name)
		} else {
			younger = append(younger, rs.Name)
		}
		all = append(all, rs)
	}
	_, oldRSs := mini.FindNewReplicaSet(deployment(1, image("v2")), all)
	require.Equal(t, slices.Concat(older, younger), names(oldRSs))
	newRS, _ := mini.FindNewReplicaSet(deployment(1, image("v1")), all)
	require.Equal(t, older[0], newRS.Name)
}
