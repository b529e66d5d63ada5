package mini_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// inDaemons runs a test in a world with the DaemonSet controller, a kubelet, a scheduler, and these
// nodes. A Pod is bound at once if its affinity names a node that exists, and ready after a second
// unless its image begins with "bad". It ends 5 seconds after its deletion.
func inDaemons(t *testing.T, nodes []string, test func(w *rolloutWorld)) {
	t.Helper()
	inRollout(t, mini.NewDaemonSetController, func(w *rolloutWorld) {
		scheduler := mini.NewCache(w.Cluster)
		pods, err := scheduler.Informer(&corev1.Pod{})
		require.NoError(w, err)
		pods.AddHandler(w.schedule)
		w.run(scheduler.Run)
		for _, name := range nodes {
			w.addNode(name)
		}
		test(w)
	})
}

// daemonSet returns one with an image, which a test changes like that of a Deployment.
func daemonSet(changes ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: appWeb},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(appWeb)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "v1"}}},
			},
		},
	}
	for _, change := range changes {
		change(ds)
	}
	return ds
}

func daemonImage(image string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Containers[0].Image = image }
}

func daemonFenceposts(surge, unavailable string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) {
		ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable)),
			},
		}
	}
}

var withAndWithoutSurge = []func(*appsv1.DaemonSet){daemonFenceposts("1", "0"), daemonFenceposts("0", "1")}

func daemonOnDelete(ds *appsv1.DaemonSet) {
	ds.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
}

func inPodSpec(change func(*corev1.PodSpec)) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) { change(&ds.Spec.Template.Spec) }
}

// addDaemons creates the DaemonSet, and waits until its Pods are ready.
func (w *world) addDaemons(ds *appsv1.DaemonSet) {
	w.Helper()
	addSet(w, w.Other.AppsV1().DaemonSets("default"), ds)
}

func (w *world) daemons() *appsv1.DaemonSet {
	w.Helper()
	return getSet(w, w.Other.AppsV1().DaemonSets("default"))
}

func (w *world) changeDaemons(changes ...func(*appsv1.DaemonSet)) {
	w.Helper()
	changeSet(w, w.Other.AppsV1().DaemonSets("default"), changes...)
}

// sync reconciles once, where no controller runs.
func (w *world) sync(sets *mini.DaemonSets) {
	w.Helper()
	_, err := sets.Reconcile(w.ctx, web)
	require.NoError(w, err)
}

// failPod is what the kubelet does with a Pod that it refuses or evicts.
func (w *world) failPod(pod *corev1.Pod) {
	w.Helper()
	w.changePodStatus(pod, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
}

// A node without its agent isn't watched.
func TestEachNodeGetsOnePodEvenIfItComesLater(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		require.Equal(w, map[string]string{"a": "v1", "b": "v1"}, w.onNodes())
		w.addNode("c")
		time.Sleep(time.Second)
		require.Equal(w, map[string]string{"a": "v1", "b": "v1", "c": "v1"}, w.onNodes())
		for _, pod := range w.live() {
			require.True(w, metav1.IsControlledBy(pod, w.daemons()), "the garbage collector has to know whose Pod %s is", pod.Name)
		}
		w.deletePod(w.live()[0])
		time.Sleep(4 * time.Second)
		require.Len(w, w.live(), 2, "the Pod is still ending: two on a node would fight for its ports")
		time.Sleep(2 * time.Second)
		require.Equal(w, map[string]string{"a": "v1", "b": "v1", "c": "v1"}, w.onNodes())
	})
}

// A Pod on a node that it does not fit waits for the scheduler forever, or runs where it must not.
func TestTheTemplateChoosesTheNodes(t *testing.T) {
	long := "a-node-with-a-name-that-is-longer-than-the-63-characters-of-a-label.example.com"
	both := expression("disk", "Exists")
	both.MatchFields = byNodeName("NotIn", "fast").MatchFields
	for _, c := range []struct {
		what   string
		change func(*corev1.PodSpec)
		want   []string
	}{
		{"all", func(*corev1.PodSpec) {}, []string{long, "fast", "plain", "slow"}},
		{"selector", func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"disk": "ssd"} }, []string{"fast"}},
		{"name", func(spec *corev1.PodSpec) { spec.NodeName = "plain" }, []string{"plain"}},
		{"in", terms(expression("disk", "In", "ssd", "tape")), []string{"fast"}},
		{"not in", terms(expression("disk", "NotIn", "ssd")), []string{long, "plain", "slow"}},
		{"exists", terms(expression("disk", "Exists")), []string{"fast", "slow"}},
		{"does not exist", terms(expression("disk", "DoesNotExist")), []string{long, "plain"}},
		{"greater", terms(expression("cores", "Gt", "8")), []string{"fast"}},
		{"less", terms(expression("cores", "Lt", "8")), []string{"slow"}},
		{"not an operator", terms(expression("cores", "About", "8")), nil},
		{"one of two terms", terms(expression("disk", "In", "ssd"), expression("cores", "Lt", "8")), []string{"fast", "slow"}},
		{"an empty term", terms(corev1.NodeSelectorTerm{}), nil},
		{"no term", terms(), nil},
		{"a name in a term", terms(byNodeName("In", long)), []string{long}},
		{"another name", terms(byNodeName("NotIn", long)), []string{"fast", "plain", "slow"}},
		{"both halves of a term", terms(both), []string{"slow"}},
		{"selector and terms", func(spec *corev1.PodSpec) {
			terms(expression("disk", "Exists"))(spec)
			spec.NodeSelector = map[string]string{"cores": "16"}
		}, []string{"fast"}},
		{"no node affinity", func(spec *corev1.PodSpec) { spec.Affinity = &corev1.Affinity{} }, []string{long, "fast", "plain", "slow"}},
		{"preferences only", func(spec *corev1.PodSpec) {
			terms()(spec)
			spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}, []string{long, "fast", "plain", "slow"}},
	} {
		inDaemons(t, nil, func(w *rolloutWorld) {
			w.addNode(long)
			w.addNode("fast", label("disk", "ssd"), label("cores", "16"))
			w.addNode("plain")
			w.addNode("slow", label("disk", "hdd"), label("cores", "4"))
			w.addDaemons(daemonSet(inPodSpec(c.change)))
			require.Equal(w, c.want, slices.Sorted(maps.Keys(w.onNodes())), c.what)
			require.EqualValues(w, 1, w.daemons().Status.ObservedGeneration, c.what)
		})
	}
}

// A user may make such Pods, and the selector may match them. If one counted for a node,
// that node would have no agent.
func TestAPodThatIsForNoNodeCountsForNone(t *testing.T) {
	inMemory(t, func(w *world) {
		w.addNode("a")
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet())
		preferred := func(spec *corev1.PodSpec) { spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}} }
		for i, change := range []func(*corev1.PodSpec){
			func(*corev1.PodSpec) {}, func(spec *corev1.PodSpec) { spec.Affinity = &corev1.Affinity{} }, preferred,
			terms(byNodeName("NotIn", "a")), terms(byNodeName("In", "a", "b")),
			func(spec *corev1.PodSpec) { terms(byNodeName("In", "a"))(spec); spec.NodeName = "gone" },
		} {
			pod := &corev1.Pod{Spec: daemonSet(inPodSpec(change)).Spec.Template.Spec}
			pod.Name, pod.Labels = fmt.Sprint("stray-", i), map[string]string{"app": "web"}
			_, err := w.Other.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		for range 2 {
			synctest.Wait()
			_, err := sets.Reconcile(w.ctx, web)
			require.NoError(w, err)
		}
		require.Len(w, names(w.live()), 7, "one is new")
	})
}

// A DaemonSet that binds its Pods itself puts them on nodes that are full.
func TestTheSchedulerBindsThePodToTheOneNodeThatItIsFor(t *testing.T) {
	inMemory(t, func(w *world) {
		w.addNode("a", label("disk", "ssd"))
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet(inPodSpec(terms(expression("disk", "Exists")))))
		for range 3 {
			w.sync(sets)
		}
		pods := w.live()
		require.Len(w, pods, 1, "a Pod that isn't bound yet also belongs to its node")
		require.Empty(w, pods[0].Spec.NodeName)
		affinity := pods[0].Spec.Affinity.NodeAffinity
		require.Equal(w, []corev1.NodeSelectorTerm{byNodeName("In", "a")},
			affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
		require.Len(w, affinity.PreferredDuringSchedulingIgnoredDuringExecution, 1, "the rest of the template stays")
	})
}

// kubectl cordon keeps new Pods away, and must not take the log collector from those that run.
func TestTaintsKeepPodsAwayAndOnlySomeTakeThemAway(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(inPodSpec(func(spec *corev1.PodSpec) {
			spec.Tolerations = []corev1.Toleration{{Key: "ours", Operator: corev1.TolerationOpEqual, Value: "yes"}}
		})))
		w.changeNode("a", taint("theirs", corev1.TaintEffectNoSchedule))
		w.addNode("c", taint("theirs", corev1.TaintEffectNoSchedule), taint("theirs", corev1.TaintEffectPreferNoSchedule))
		w.addNode("d", taint("theirs", corev1.TaintEffectPreferNoSchedule))
		w.addNode("e", taint("ours", corev1.TaintEffectNoExecute))
		w.addNode("f", taint("ours", corev1.TaintEffectNoSchedule), taint("theirs", corev1.TaintEffectNoExecute))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v1", "b": "v1", "d": "v1", "e": "v1"}, w.onNodes())
		require.EqualValues(w, 3, w.daemons().Status.DesiredNumberScheduled, "a node whose Pod may only stay isn't one of them")
		require.EqualValues(w, 3, w.daemons().Status.CurrentNumberScheduled)
		require.EqualValues(w, 1, w.daemons().Status.NumberMisscheduled)

		w.changeDaemons(daemonImage("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"b": "v2", "d": "v2", "e": "v2"}, w.onNodes(),
			"a can't get the new template, so the rollout deletes its old Pod")
		w.changeNode("b", taint("theirs", corev1.TaintEffectNoSchedule))
		w.failPod(w.podOn("b"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"d": "v2", "e": "v2"}, w.onNodes())
		w.changeNode("a", noTaints)
		w.changeNode("e", taint("theirs", corev1.TaintEffectNoExecute), taint("theirs", corev1.TaintEffectNoSchedule))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v2", "d": "v2"}, w.onNodes())
	})
}

// The Pod that gives the node its network is needed most where there is none.
func TestAHostsProblemsDoNotKeepItsDaemonAway(t *testing.T) {
	for _, c := range []struct {
		key    string
		effect corev1.TaintEffect
		host   bool // HostNetwork
		runs   bool
	}{
		{corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute, false, true},
		{corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute, false, true},
		{corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule, false, true},
		{corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule, false, true},
		{corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule, false, true},
		{corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule, false, true},
		{corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule, false, false},
		{corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule, true, true},
		{corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute, true, false},
	} {
		inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
			w.addNode("b", taint(c.key, c.effect))
			w.addDaemons(daemonSet(inPodSpec(func(spec *corev1.PodSpec) { spec.HostNetwork = c.host })))
			want := map[string]string{"a": "v1"}
			if c.runs {
				want["b"] = "v1"
			}
			require.Equal(w, want, w.onNodes(), c.key)
			w.changeNode("a", taint(c.key, c.effect))
			time.Sleep(time.Minute)
			runs := w.onNodes()["a"] != ""
			require.Equal(w, c.runs || c.effect == corev1.TaintEffectNoSchedule, runs, c.key)
		})
	}
}

// Eviction takes the shortest time that a Pod tolerates: after five minutes, the node
// would lose its agent.
func TestADaemonToleratesItsHostsProblemsForever(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(inPodSpec(func(spec *corev1.PodSpec) {
			spec.Tolerations = []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
				{Key: "ours", Operator: "Exists", TolerationSeconds: new(int64(7)), Effect: "NoExecute"},
			}
		})))
		seconds := map[string]int64{}
		for _, toleration := range w.live()[0].Spec.Tolerations {
			if toleration.TolerationSeconds != nil {
				seconds[toleration.Key] = *toleration.TolerationSeconds
			}
		}
		require.Equal(w, map[string]int64{"ours": 7}, seconds)
		require.Len(w, w.daemons().Spec.Template.Spec.Tolerations, 2, "the user's template must stay as it is")
	})
}

// If more agents are missing than the user allows, the cluster is blind.
func TestADaemonRolloutKeepsToItsFenceposts(t *testing.T) {
	nodes := []string{"a", "b", "c", "d"}
	for _, c := range []struct {
		surge, unavailable string
		most, fewest       int
	}{
		{"0", "1", 4, 3}, {"0", "2", 4, 2}, {"0", "25%", 4, 3}, {"0", "30%", 4, 2}, {"0", "100%", 4, 0}, {"0", "9", 4, 0},
		{"1", "0", 5, 4}, {"30%", "0", 6, 4}, {"100%", "0", 8, 4},
	} {
		name := fmt.Sprintf("surge %s, unavailable %s", c.surge, c.unavailable)
		inDaemons(t, nodes, func(w *rolloutWorld) {
			w.addNode("x", taint("theirs", corev1.TaintEffectNoSchedule))
			w.addNode("y", taint("theirs", corev1.TaintEffectNoSchedule))
			w.addDaemons(daemonSet(daemonFenceposts(c.surge, c.unavailable)))
			w.watch()
			w.changeDaemons(daemonImage("v2"))
			most, fewest := w.counted(2 * time.Minute)
			require.Equal(w, map[string]string{"a": "v2", "b": "v2", "c": "v2", "d": "v2"}, w.onNodes(), name)
			require.Equal(w, c.most, most, "Pods at one time: "+name)
			require.Equal(w, c.fewest, fewest, "Pods that served: "+name)
		})
	}
}

// The rollout takes one Pod away, a user or a drain another one, and together they are one too many.
func TestADaemonThatIsEndingCountsAsMissing(t *testing.T) {
	inDaemons(t, []string{"a", "b", "c"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(daemonFenceposts("0", "1")))
		w.watch()
		w.deletePod(w.podOn("c"))
		w.changeDaemons(daemonImage("v2"))
		_, fewest := w.counted(time.Minute)
		require.Equal(w, 2, fewest, "a Pod that is ending is ready for a while")
		require.Equal(w, map[string]string{"a": "v2", "b": "v2", "c": "v2"}, w.onNodes())
	})
}

// A surge is for users who can't do without an agent for five seconds.
func TestASurgeDoesNotWaitUntilADaemonHasEnded(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(daemonFenceposts("1", "0")))
		w.deletePod(w.podOn("a"))
		time.Sleep(2 * time.Second)
		require.Equal(w, map[string]int{"v1": 1}, w.ready())
	})
}

// The user has five minutes to see a bad release, and not the time that a container takes to start.
func TestADaemonRolloutWaitsUntilFreshPodsHaveBeenReadyForLongEnough(t *testing.T) {
	for _, fenceposts := range withAndWithoutSurge {
		inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
			w.addDaemons(daemonSet(fenceposts, func(ds *appsv1.DaemonSet) { ds.Spec.MinReadySeconds = 300 }))
			time.Sleep(301 * time.Second)
			require.EqualValues(w, 2, w.daemons().Status.NumberAvailable, "nothing has changed that a watch could show")
			w.changeDaemons(daemonImage("v2"))
			time.Sleep(290 * time.Second)
			require.EqualValues(w, 1, len(slices.DeleteFunc(w.live(), func(pod *corev1.Pod) bool {
				return pod.Spec.Containers[0].Image == "v1"
			})), "the first fresh Pod is ready, and not available")
			time.Sleep(600 * time.Second)
			require.Equal(w, map[string]string{"a": "v2", "b": "v2"}, w.onNodes())
		})
	}
}

// A bad image must not reach more nodes than the fenceposts allow, and has to go when the
// user undoes it.
func TestABadImageStopsTheDaemonRolloutUntilTheUserUndoesIt(t *testing.T) {
	for _, fenceposts := range withAndWithoutSurge {
		inDaemons(t, []string{"a", "b", "c"}, func(w *rolloutWorld) {
			w.addDaemons(daemonSet(fenceposts))
			w.watch()
			w.changeDaemons(daemonImage("bad"))
			_, fewest := w.counted(time.Hour)
			require.GreaterOrEqual(w, fewest, 2, "one node has the bad image, and the others go on serving")
			w.changeDaemons(daemonImage("v1"))
			_, fewest = w.counted(time.Minute)
			require.Equal(w, map[string]string{"a": "v1", "b": "v1", "c": "v1"}, w.onNodes())
			require.GreaterOrEqual(w, fewest, 2)
		})
	}
}

// A rollout that waited for broken Pods would never repair them.
func TestOldDaemonsThatDoNotServeAreReplacedAtOnce(t *testing.T) {
	for _, fenceposts := range withAndWithoutSurge {
		inDaemons(t, []string{"a", "b", "c"}, func(w *rolloutWorld) {
			w.addDaemons(daemonSet(fenceposts, daemonImage("bad")))
			w.changeDaemons(daemonImage("v2"))
			time.Sleep(10 * time.Second)
			require.Equal(w, map[string]int{"v2": 3}, w.ready(), "all three are replaced at the same time, because nothing is lost")
		})
	}
}

// Two on a node fight for its ports, and none is worse. A surge has two of them for a while, to lose nothing.
func TestOfSeveralDaemonsForANodeTheRightOnesStay(t *testing.T) {
	const oldReady, oldBroken, freshReady, freshBroken, freshUnbound = "old ready", "old", "fresh ready", "fresh", "fresh unbound"
	for _, c := range []struct {
		surge, unavailable string
		pods               []string // oldest first
		stay               []int
	}{
		{"0", "1", []string{freshReady, oldReady, freshReady}, []int{0}},
		{"0", "1", []string{oldReady, freshBroken}, []int{0}},
		{"0", "1", []string{freshUnbound, freshReady}, []int{1}}, // one that waits for the scheduler may wait forever
		{"1", "0", []string{oldReady, freshBroken}, []int{0, 1}},
		{"1", "0", []string{oldReady, freshReady}, []int{1}},
		{"1", "0", []string{oldBroken, freshBroken}, []int{1}},
		{"1", "0", []string{freshBroken, oldReady, freshReady, oldReady}, []int{0, 1}},
	} {
		inMemory(t, func(w *world) {
			sets := &mini.DaemonSets{Client: w.cached()}
			w.addDaemons(daemonSet(daemonFenceposts(c.surge, c.unavailable)))
			w.sync(sets)
			hash := w.controllerRevisions()[0].Labels[revisionLabel]
			w.addNode("a")
			for i, looks := range c.pods {
				labels, spec := maps.Clone(appWeb), daemonSet(inPodSpec(terms(byNodeName("In", "a")))).Spec.Template.Spec
				if strings.HasPrefix(looks, "fresh") {
					labels[revisionLabel] = hash
				}
				if looks != freshUnbound {
					spec.NodeName = "a"
				}
				w.stray(fmt.Sprint(i), labels, spec)
				if strings.HasSuffix(looks, "ready") {
					w.ready(w.live()[i])
				}
				time.Sleep(time.Second)
			}
			synctest.Wait()
			w.sync(sets)
			var stay []string
			for _, i := range c.stay {
				stay = append(stay, fmt.Sprint(i))
			}
			require.Equal(w, stay, names(w.live()), "surge %s: %v", c.surge, c.pods)
		})
	}
}

// The user wants to say when each node is updated.
func TestOnDeleteLeavesOldDaemonsUntilTheUserDeletesThem(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(daemonOnDelete))
		w.changeDaemons(daemonImage("v2"))
		w.changePodStatus(w.podOn("b"), func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
		time.Sleep(time.Hour)
		require.Equal(w, map[string]string{"a": "v1", "b": "v1"}, w.onNodes(), "even one that is broken stays")
		w.deletePod(w.podOn("a"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v2", "b": "v1"}, w.onNodes())
		require.EqualValues(w, 1, w.daemons().Status.UpdatedNumberScheduled)
	})
}

// created is how many Pods there were since ForgetRequests. A binding is a creation, too.
func (w *world) created() int {
	return w.requestsTo("create", "pods") - len(w.Server.Requests(toBindings))
}

var toBindings = fakeapi.Match{Verb: "create", Resource: "pods", Subresource: "binding"}

// An evicted agent is needed again now. One that the kubelet refuses would be refused a thousand times a minute.
func TestAFailedDaemonIsReplacedAndOneThatFailsAtOnceIsGivenTime(t *testing.T) {
	for _, strategy := range slices.Concat(withAndWithoutSurge, []func(*appsv1.DaemonSet){daemonOnDelete}) {
		inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
			w.addDaemons(daemonSet(strategy, daemonImage("bad")))
			time.Sleep(time.Minute)
			w.Server.ForgetRequests()
			w.failPod(w.live()[0])
			time.Sleep(time.Second)
			require.Equal(w, 1, w.created(), "it has run for a minute")
			for range 60 {
				for _, pod := range w.live() {
					w.failPod(pod)
				}
				time.Sleep(time.Second)
			}
			require.LessOrEqual(w, w.created(), 4, "the kubelet and the controller fight")
			require.GreaterOrEqual(w, w.created(), 3, "within a minute, the node may have got room")
			time.Sleep(time.Minute)
			for range 2 { // the second one is new, and would wait
				w.failPod(w.live()[0])
				synctest.Wait()
			}
			w.changeDaemons(daemonImage("v2"))
			time.Sleep(10 * time.Second)
			require.Equal(w, map[string]int{"v2": 1}, w.ready(), "a failure of the old template says nothing about the new one")
		})
	}
}

// It ended well, and the node has none.
func TestADaemonThatHasEndedIsReplaced(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		time.Sleep(time.Minute)
		w.changePodStatus(w.live()[0], func(pod *corev1.Pod) {
			pod.Status.Phase, pod.Finalizers = corev1.PodSucceeded, []string{"example.com/wait"}
		})
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int{"v1": 1}, w.ready())
	})
}

// The scheduler would never bind it, so it would be pending forever.
func TestAPodForADeletedNodeIsDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.addNode("a")
		w.addNode("b")
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet())
		w.sync(sets)
		for _, pod := range w.live() {
			if wantedNode(pod) == "b" {
				w.bind(pod, "b")
			}
		}
		for _, name := range []string{"a", "b"} {
			require.NoError(w, w.Other.CoreV1().Nodes().Delete(w.ctx, name, metav1.DeleteOptions{}))
		}
		for range 2 {
			synctest.Wait()
			w.sync(sets)
		}
		require.Equal(w, map[string]string{"b": "v1"}, w.onNodes(), "a bound one is the Pod collector's: it may run on")
		require.Zero(w, w.daemons().Status.DesiredNumberScheduled)
	})
}

// kubectl rollout status and kubectl get read them.
func TestTheDaemonSetsStatusCountsNodes(t *testing.T) {
	inDaemons(t, []string{"a", "b", "c"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		status := w.daemons().Status
		require.Equal(w, appsv1.DaemonSetStatus{
			ObservedGeneration: w.daemons().Generation, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3,
			NumberReady: 3, NumberAvailable: 3, UpdatedNumberScheduled: 3, CollisionCount: new(int32(0)),
		}, status)
		w.changeDaemons(daemonImage("bad"))
		time.Sleep(2 * time.Second) // the first old one is ending
		status = w.daemons().Status
		require.Equal(w, w.daemons().Generation, status.ObservedGeneration)
		require.EqualValues(w, 0, status.UpdatedNumberScheduled)
		time.Sleep(time.Minute)
		status = w.daemons().Status
		require.EqualValues(w, 1, status.UpdatedNumberScheduled)
		require.EqualValues(w, 2, status.NumberReady)
		require.EqualValues(w, 1, status.NumberUnavailable)
		w.Server.ForgetRequests()
		w.addNode("d", taint("theirs", corev1.TaintEffectNoSchedule))
		time.Sleep(time.Hour)
		require.Zero(w, w.requestsTo("update", "daemonsets"), "nothing has changed, and each write wakes the controller")
	})
}

// A late watch could bring two Pods to one node, or leave one node too many without a
// Pod.
func TestASlowWatchMakesNeitherTooManyDaemonsNorTooFew(t *testing.T) {
	inDaemons(t, []string{"a", "b", "c", "d"}, func(w *rolloutWorld) {
		w.slowWatch("pods", 300*time.Millisecond)
		w.addDaemons(daemonSet())
		w.watch()
		w.changeDaemons(daemonImage("v2"))
		for i := range 60 {
			time.Sleep(time.Second)
			w.changeDaemons(func(ds *appsv1.DaemonSet) { ds.Annotations = map[string]string{"change": fmt.Sprint(i)} })
		}
		most, fewest := w.counted(time.Minute)
		require.Equal(w, []int{4, 3}, []int{most, fewest})
		require.Equal(w, map[string]string{"a": "v2", "b": "v2", "c": "v2", "d": "v2"}, w.onNodes())
	})
}

// A thousand nodes report every few minutes that they're alive.
func TestANodesHeartbeatWakesNoDaemonSet(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		before := w.daemonReconciles()
		node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		_, err = w.Other.CoreV1().Nodes().UpdateStatus(w.ctx, node, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Equal(w, before, w.daemonReconciles())
		w.changeNode("a", label("disk", "ssd"))
		require.Equal(w, before+1, w.daemonReconciles())
	})
}

// Two Pods of a daemon would use one port of the host; and without its revision, nobody can roll back to it.
func TestADaemonSetSeesOrphansThatComeLaterAndARevisionThatIsDeleted(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		add := func(name string, labels map[string]string, owners ...metav1.OwnerReference) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: "c", Image: "v1"}}}}
			pod.Name, pod.Labels, pod.OwnerReferences = name, labels, owners
			_, err := w.Other.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		time.Sleep(time.Second)
		add("late", appWeb)
		require.Len(w, w.live(), 1, "it's adopted, and then there's one too many")
		require.NotEqual(w, "late", w.live()[0].Name)
		require.NoError(w, w.Other.AppsV1().ControllerRevisions("default").Delete(w.ctx, w.controllerRevisions()[0].Name, metav1.DeleteOptions{}))
		require.Len(w, w.controllerRevisions(), 1)
		before := w.daemonReconciles()
		add("shop", map[string]string{"app": "shop"})
		add("of-another", appWeb, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "u", Controller: new(true)})
		require.Equal(w, before, w.daemonReconciles(), "these are none of the DaemonSet's business")
	})
}

func (w *rolloutWorld) daemonReconciles() (n int) {
	synctest.Wait()
	for _, e := range w.Cluster.Trace.Events() {
		if e.Kind == trace.ReconcileEnd && e.Layer == "daemonset" {
			n++
		}
	}
	return n
}

// One DaemonSet on thousands of nodes must not keep a worker from all others.
func TestOneReconcileCreatesNoMoreDaemonsThanTheBurst(t *testing.T) {
	inMemory(t, func(w *world) {
		for i := range 260 {
			w.addNode(fmt.Sprint("node-", i))
		}
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet())
		w.Server.ForgetRequests()
		w.sync(sets)
		require.Equal(w, 250, w.requestsTo("create", "pods"), "250 is the original's number")
		w.sync(sets)
		require.Len(w, w.onNodes(), 260, "each node has one, and no node is taken twice")
		sets.Burst = 7
		w.changeDaemons(inPodSpec(func(spec *corev1.PodSpec) { spec.NodeName = "node-0" }))
		synctest.Wait()
		w.sync(sets)
		require.Len(w, w.live(), 253)
	})
}

// A quota that refuses one Pod refuses all, and what is not reported is not tried again.
func TestEachFailureOfADaemonSetIsReported(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "pods"}, {Verb: "patch", Resource: "pods"},
		{Verb: "create", Resource: "controllerrevisions"}, {Verb: "update", Resource: "controllerrevisions"},
		{Verb: "patch", Resource: "controllerrevisions"}, {Verb: "delete", Resource: "controllerrevisions"},
		{Verb: "update", Resource: "daemonsets", Subresource: "status"},
	} {
		inDaemons(t, []string{"a", "b", "c", "d"}, func(w *rolloutWorld) {
			// What is left when a user deletes a DaemonSet and keeps its Pods.
			rev := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)}}
			rev.Name, rev.Labels = "orphan", appWeb
			_, err := w.Other.AppsV1().ControllerRevisions("default").Create(w.ctx, rev, metav1.CreateOptions{})
			require.NoError(w, err)
			w.stray("stray", appWeb, daemonSet().Spec.Template.Spec)
			lift := w.Server.Inject(fakeapi.Fault{Match: match, Status: fakeapi.Forbidden()})
			w.addDaemons(daemonSet(func(ds *appsv1.DaemonSet) { ds.Spec.RevisionHistoryLimit = new(int32(1)) }))
			if match.Verb == "create" && match.Resource == "pods" {
				require.Less(w, w.requestsTo("create", "pods"), 30, "refused Pods are tried one at a time, after longer and longer pauses")
			}
			for _, image := range []string{"v2", "v3", "v2"} {
				w.changeDaemons(daemonImage(image))
				time.Sleep(time.Minute)
			}
			time.Sleep(time.Hour)
			sets := &mini.DaemonSets{Client: w.Manager.Client}
			synctest.Wait()
			_, err = sets.Reconcile(w.ctx, web)
			require.Error(w, err, "%s of %s was refused", match.Verb, match.Resource)
			lift()
			time.Sleep(time.Hour)
			require.Equal(w, w.daemons().Generation, w.daemons().Status.ObservedGeneration)
			require.NoError(w, w.Other.CoreV1().Pods("default").Delete(w.ctx, "stray", metav1.DeleteOptions{}))
			time.Sleep(time.Minute)
			require.Equal(w, map[string]string{"a": "v2", "b": "v2", "c": "v2", "d": "v2"}, w.onNodes())
		})
	}
}

// The garbage collector deletes Pods: new ones would never end.
func TestADaemonSetThatIsBeingDeletedIsLeftToTheGarbageCollector(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(func(ds *appsv1.DaemonSet) { ds.Finalizers = []string{"example.com/wait"} }))
		require.NoError(w, w.Other.AppsV1().DaemonSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		w.deletePod(w.live()[0])
		time.Sleep(time.Minute)
		require.Len(w, w.live(), 1)
		w.changeDaemons(func(ds *appsv1.DaemonSet) { ds.Finalizers = nil })
		sets := &mini.DaemonSets{Client: w.Manager.Client}
		synctest.Wait()
		_, err := sets.Reconcile(w.ctx, web)
		require.NoError(w, err, "a deleted DaemonSet is the normal end, not a failure")
	})
}

// Without one of its watches, the controller would miss what it has to do, and no error would say so.
func TestTheDaemonSetControllerNeedsAllItsKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		w.needsAll(mini.NewDaemonSetController,
			&appsv1.DaemonSet{}, &appsv1.ControllerRevision{}, &corev1.Pod{}, &corev1.Node{})
	})
}

// A second revision of the same template would be a rollout that restarts all Pods.
func TestARevisionThatCannotBeReadIsAFailure(t *testing.T) {
	toRevisions := func(verb string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: "controllerrevisions"} }
	inMemory(t, func(w *world) {
		w.slowWatch("controllerrevisions", time.Minute)
		w.Server.Inject(fakeapi.Fault{Match: toRevisions("create"), Times: 1, LoseResponse: true})
		w.Server.Inject(fakeapi.Fault{Match: toRevisions("get"), Times: 1, Status: fakeapi.Unavailable()})
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet())
		for _, fails := range []bool{true, true, false, false} {
			_, err := sets.Reconcile(w.ctx, web)
			require.Equal(w, fails, err != nil, "%v", err)
			time.Sleep(40 * time.Second)
		}
		require.Len(w, w.controllerRevisions(), 1)
		require.Zero(w, w.requestsTo("update", "controllerrevisions"), "the only one is the newest one")
	})
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: toRevisions("list"), Hang: true})
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet())
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		_, err := sets.Reconcile(ctx, web)
		require.Error(w, err)
		require.Zero(w, w.requestsTo("create", "controllerrevisions"))
	})
}

// Retrying doesn't make an invalid selector valid.
func TestADaemonSetWithAnInvalidSelectorIsAFailureThatNoRetryCures(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		_, err := w.Server.Load(appsv1.SchemeGroupVersion.WithResource("daemonsets"), daemonSet(func(ds *appsv1.DaemonSet) {
			ds.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}
		}))
		require.NoError(w, err)
		time.Sleep(time.Hour)
		require.Empty(w, w.live())
		tries := slices.DeleteFunc(w.Cluster.Trace.Events(), func(e trace.Event) bool {
			return e.Kind != trace.ReconcileEnd || e.Layer != "daemonset"
		})
		require.NotEmpty(w, tries)
		for _, try := range tries { // the node's event may bring a second one in the same instant
			require.Equal(w, trace.GivenUp, try.Outcome)
			require.Equal(w, tries[0].At, try.At, "it was tried again")
		}
	})
}

// kubectl rollout undo sends the data of a revision as a patch.
func TestARevisionIsAPatchThatBringsTheTemplateBack(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(func(ds *appsv1.DaemonSet) {
			ds.Annotations = map[string]string{"kubernetes.io/change-cause": "first"}
		}))
		w.changeDaemons(daemonImage("v2"), inPodSpec(func(spec *corev1.PodSpec) {
			spec.Containers = append(spec.Containers, corev1.Container{Name: "sidecar", Image: "s"})
		}))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int64{"v1": 1, "v2": 2}, w.revisions())
		for _, rev := range w.controllerRevisions() {
			if rev.Revision != 1 {
				continue
			}
			require.Equal(w, "first", rev.Annotations["kubernetes.io/change-cause"], "kubectl rollout history shows it")
			before, err := json.Marshal(w.daemons())
			require.NoError(w, err)
			after, err := strategicpatch.StrategicMergePatch(before, rev.Data.Raw, &appsv1.DaemonSet{})
			require.NoError(w, err)
			var ds appsv1.DaemonSet
			require.NoError(w, json.Unmarshal(after, &ds))
			require.Len(w, ds.Spec.Template.Spec.Containers, 1, "the patch replaces the template and doesn't add to it")
			_, err = w.Other.AppsV1().DaemonSets("default").Patch(
				w.ctx, "web", types.StrategicMergePatchType, rev.Data.Raw, metav1.PatchOptions{})
			require.NoError(w, err)
		}
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v1"}, w.onNodes())
		require.Equal(w, map[string]int64{"v1": 3, "v2": 2}, w.revisions(), "it's the newest again, and there's no new one")
	})
}

// A controller that compared bytes would restart every Pod of a cluster when it is upgraded.
func TestTheBytesOfARevisionDoNotMatterButItsTemplateDoes(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		rev := w.controllerRevisions()[0]
		require.NoError(w, w.Other.AppsV1().DaemonSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		synctest.Wait()
		w.deletePod(w.live()[0])
		require.NoError(w, w.Other.AppsV1().ControllerRevisions("default").Delete(w.ctx, rev.Name, metav1.DeleteOptions{}))
		data := strings.Replace(string(rev.Data.Raw), `"metadata":{`, `"metadata":{"annotations":{},`, 1)
		require.NotEqual(w, string(rev.Data.Raw), data)
		rev.ObjectMeta = metav1.ObjectMeta{Name: "other", Labels: map[string]string{"app": "web", revisionLabel: "other"}}
		rev.Data.Raw = []byte(data)
		_, err := w.Other.AppsV1().ControllerRevisions("default").Create(w.ctx, &rev, metav1.CreateOptions{})
		require.NoError(w, err)
		w.addDaemons(daemonSet())
		require.Equal(w, "other", w.live()[0].Labels[revisionLabel])
		require.Len(w, w.controllerRevisions(), 1)
	})
}

// Thousands of revisions after a year, or none to go back to.
func TestTheOldestRevisionsAreDeletedButNoneThatAPodHas(t *testing.T) {
	inDaemons(t, []string{"a", "b", "c"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(func(ds *appsv1.DaemonSet) { ds.Spec.RevisionHistoryLimit = new(int32(2)) }))
		for i := 2; i <= 5; i++ {
			w.changeDaemons(daemonImage(fmt.Sprint("v", i)))
			time.Sleep(time.Minute)
		}
		require.Equal(w, map[string]int64{"v3": 3, "v4": 4, "v5": 5}, w.revisions())
		w.changeDaemons(daemonImage("bad"), func(ds *appsv1.DaemonSet) { ds.Spec.RevisionHistoryLimit = new(int32(0)) })
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int64{"v5": 5, "bad": 6}, w.revisions(), "two nodes have v5")
	})
}

// Two templates with one hash are rare. A controller that overlooks it rolls out the
// wrong one.
func TestARevisionWhoseNameIsTakenGetsAnotherName(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		first := w.controllerRevisions()[0]
		require.NoError(w, w.Other.AppsV1().DaemonSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		synctest.Wait()
		w.deletePod(w.live()[0])
		w.addDaemons(daemonSet())
		require.Equal(w, map[string]string{"a": "v1"}, w.onNodes())
		require.Equal(w, new(int32(1)), w.daemons().Status.CollisionCount)
		require.Len(w, w.controllerRevisions(), 2)
		require.NotEqual(w, first.Labels[revisionLabel], w.live()[0].Labels[revisionLabel])
	})
}

// The API server has stored the revision, and the answer was lost.
func TestARevisionWhoseAnswerWasLostIsFoundAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.addNode("a")
		w.slowWatch("controllerrevisions", time.Minute)
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet())
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "controllerrevisions"}, Times: 1, LoseResponse: true,
		})
		_, err := sets.Reconcile(w.ctx, web)
		require.Error(w, err)
		w.sync(sets)
		require.Len(w, w.controllerRevisions(), 1)
		require.Equal(w, new(int32(0)), w.daemons().Status.CollisionCount, "it was no collision")
	})
}

// The set has a revision of that name, which an earlier template with the same hash has left.
func TestARevisionWithTheRightNameButAnotherTemplateIsNotUsed(t *testing.T) {
	inMemory(t, func(w *world) {
		w.addNode("a")
		sets := &mini.DaemonSets{Client: w.cached()}
		w.addDaemons(daemonSet())
		w.sync(sets)
		rev := w.controllerRevisions()[0]
		revisions := w.Other.AppsV1().ControllerRevisions("default")
		require.NoError(w, revisions.Delete(w.ctx, rev.Name, metav1.DeleteOptions{}))
		rev.UID, rev.ResourceVersion = "", ""
		rev.Data.Raw = []byte(strings.Replace(string(rev.Data.Raw), `"image":"v1"`, `"image":"v0"`, 1))
		_, err := revisions.Create(w.ctx, &rev, metav1.CreateOptions{})
		require.NoError(w, err)
		synctest.Wait()
		w.sync(sets)
		require.Equal(w, map[string]int64{"v0": 1, "v1": 2}, w.revisions())
		require.Equal(w, new(int32(1)), w.daemons().Status.CollisionCount)
	})
}

// Two controllers of different versions may have written the same template twice.
func TestOfTwoRevisionsWithTheTemplateTheNewestCounts(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		w.changeDaemons(daemonImage("v2"))
		time.Sleep(time.Minute)
		before := names(w.live())
		for _, rev := range w.controllerRevisions() {
			if rev.Revision == 2 {
				rev.ObjectMeta = metav1.ObjectMeta{Name: "twin", Labels: map[string]string{"app": "web", revisionLabel: "twin"}}
				rev.Revision = 1
				_, err := w.Other.AppsV1().ControllerRevisions("default").Create(w.ctx, &rev, metav1.CreateOptions{})
				require.NoError(w, err)
			}
		}
		w.changeDaemons(func(ds *appsv1.DaemonSet) { ds.Spec.MinReadySeconds = 1 })
		time.Sleep(time.Minute)
		require.Equal(w, before, names(w.live()), "no Pod is replaced")
		require.Equal(w, map[string]int64{"v1": 1, "v2": 2}, w.revisions(), "the twin is deleted")
		require.NotEqual(w, "twin", w.live()[0].Labels[revisionLabel])
	})
}

// An error would make the set wait, and another process has done the work.
func TestAPodThatAnotherProcessHasDeletedIsNotAFailure(t *testing.T) {
	gone := apierrors.NewNotFound(corev1.Resource("pods"), "").Status() // the server names the Pod
	for _, status := range []*metav1.Status{&gone, fakeapi.Conflict()} {
		inMemory(t, func(w *world) {
			w.addNode("a")
			sets := &mini.DaemonSets{Client: w.cached()}
			w.addDaemons(daemonSet())
			w.sync(sets)
			w.changeNode("a", taint("full", corev1.TaintEffectNoExecute))
			synctest.Wait()
			w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Status: status})
			_, err := sets.Reconcile(w.ctx, web)
			require.NoError(w, err, status.Reason)
		})
	}
}

// kubectl delete --cascade=orphan and then kubectl create keep the Pods and their history.
func TestOrphanedPodsAndRevisionsAreAdoptedByASetWithTheSameTemplate(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		before, revisions := names(w.live()), w.controllerRevisions()
		ds := w.daemons()
		require.NoError(w, w.Other.AppsV1().DaemonSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		synctest.Wait()
		for _, pod := range w.live() {
			w.changePod(pod, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
		}
		for _, rev := range revisions {
			rev.OwnerReferences = nil
			_, err := w.Other.AppsV1().ControllerRevisions("default").Update(w.ctx, &rev, metav1.UpdateOptions{})
			require.NoError(w, err)
		}
		w.addDaemons(daemonSet())
		require.Equal(w, before, names(w.live()), "no Pod is replaced")
		require.NotEqual(w, ds.UID, w.daemons().UID)
		require.Len(w, w.controllerRevisions(), 1)
		require.True(w, metav1.IsControlledBy(&w.controllerRevisions()[0], w.daemons()))
		w.changePod(w.live()[0], func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "debug"} })
		time.Sleep(time.Minute)
		require.Len(w, w.live(), 3, "a user takes a Pod out to look at it, and its node gets another")
	})
}

// The user has taken the node out of the agent's reach, and the old agent would stay there with its bug.
func TestARolloutRemovesOldDaemonsFromNodesThatTheNewTemplateDoesNotTolerate(t *testing.T) {
	for i, strategy := range withAndWithoutSurge {
		inDaemons(t, []string{"a", "b", "c"}, func(w *rolloutWorld) {
			w.changeNode("a", taint("theirs", corev1.TaintEffectNoSchedule))
			w.addDaemons(daemonSet(strategy, tolerateTheirs))
			require.Equal(w, map[string]string{"a": "v1", "b": "v1", "c": "v1"}, w.onNodes())
			w.watch()
			w.changeDaemons(daemonImage("v2"), tolerateNothing)
			_, fewest := w.counted(2 * time.Minute)
			require.Equal(w, map[string]string{"b": "v2", "c": "v2"}, w.onNodes(), "strategy %d", i)
			require.GreaterOrEqual(w, fewest, 2-i, "the fenceposts are those of the two nodes that are left")
			status := w.daemons().Status
			require.Zero(w, status.NumberMisscheduled)
			require.Equal(w, status.DesiredNumberScheduled, status.NumberAvailable)
		})
	}
}

// No node may run the new template, not even the last one.
func TestARolloutThatToleratesNoNodeRemovesAllOldDaemons(t *testing.T) {
	for _, strategy := range withAndWithoutSurge {
		inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
			w.changeNode("a", taint("theirs", corev1.TaintEffectNoSchedule))
			w.addDaemons(daemonSet(strategy, tolerateTheirs))
			w.failDaemonReadiness("a")
			w.changeDaemons(tolerateNothing)
			time.Sleep(time.Minute)
			require.Empty(w, w.onNodes(), "one that doesn't serve goes as well")
		})
	}
}

// With a surge, the user never wants to be without an agent, whichever node it is on.
func TestADaemonThatMovesToAnotherNodeServesUntilTheFreshOneDoes(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.changeNode("a", taint("theirs", corev1.TaintEffectNoSchedule))
		w.changeNode("b", taint("others", corev1.TaintEffectNoSchedule))
		w.addDaemons(daemonSet(daemonFenceposts("1", "0"), tolerateTheirs))
		require.Equal(w, map[string]string{"a": "v1"}, w.onNodes())
		w.watch()
		w.changeDaemons(daemonImage("v2"), inPodSpec(func(spec *corev1.PodSpec) { spec.Tolerations[0].Key = "others" }))
		_, fewest := w.counted(time.Minute)
		require.Equal(w, map[string]string{"b": "v2"}, w.onNodes())
		require.Equal(w, 1, fewest, "there was a moment without an agent")
	})
}

// OnDelete means that only the user deletes Pods.
func TestOnDeleteLeavesOldDaemonsOnNodesThatTheNewTemplateDoesNotTolerate(t *testing.T) {
	inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
		w.changeNode("a", taint("theirs", corev1.TaintEffectNoSchedule))
		w.addDaemons(daemonSet(daemonOnDelete, tolerateTheirs))
		w.changeDaemons(daemonImage("v2"), tolerateNothing)
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v1"}, w.onNodes())
	})
}

func tolerateTheirs(ds *appsv1.DaemonSet) {
	ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "theirs", Operator: corev1.TolerationOpExists}}
}

func tolerateNothing(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Tolerations = nil }

// failDaemonReadiness is what the kubelet does when a probe fails.
func (w *world) failDaemonReadiness(node string) {
	w.Helper()
	w.changePodStatus(w.podOn(node), func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
}

// twin creates an orphaned revision with the template of the one with this image, as a restored backup or
// another version of the controller does.
func (w *world) twin(image string, number int64) {
	w.Helper()
	for _, rev := range w.controllerRevisions() {
		if templateIn(w.T, rev).Spec.Containers[0].Image != image {
			continue
		}
		rev.ObjectMeta = metav1.ObjectMeta{Name: "twin", Labels: map[string]string{"app": "web", revisionLabel: "twin"}}
		rev.Revision = number
		_, err := w.Other.AppsV1().ControllerRevisions("default").Create(w.ctx, &rev, metav1.CreateOptions{})
		require.NoError(w, err)
	}
}

// Restarting all agents is a rollout, and the user didn't start one.
func TestDaemonsOfATwinRevisionAreRelabelledAndNotRestarted(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		before := names(w.live())
		w.twin("v1", 7)
		time.Sleep(time.Minute)
		require.Equal(w, before, names(w.live()))
		for _, pod := range w.live() {
			require.Equal(w, "twin", pod.Labels[revisionLabel])
		}
		require.Equal(w, map[string]int64{"v1": 7}, w.revisions(), "kubectl rollout history shows each template once")
		require.EqualValues(w, 2, w.daemons().Status.UpdatedNumberScheduled)
		w.changeDaemons(daemonImage("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v2", "b": "v2"}, w.onNodes(), "the next rollout knows them")
	})
}

// The original gives the new label to all Pods, and those with an older template never get the new one.
func TestATwinRevisionDoesNotMakeAnOldDaemonFresh(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet(daemonOnDelete))
		w.changeDaemons(daemonImage("v2"))
		w.deletePod(w.podOn("a"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v2", "b": "v1"}, w.onNodes())
		w.twin("v2", 7)
		time.Sleep(time.Minute)
		require.Equal(w, "twin", w.podOn("a").Labels[revisionLabel])
		require.EqualValues(w, 1, w.daemons().Status.UpdatedNumberScheduled)
		w.changeDaemons(daemonFenceposts("0", "1"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]string{"a": "v2", "b": "v2"}, w.onNodes(), "b keeps the old template forever")
	})
}

// A failure in the middle must not lose the revision that Pods still name.
func TestATwinRevisionStaysUntilItsDaemonsAreRelabelled(t *testing.T) {
	inDaemons(t, []string{"a", "b"}, func(w *rolloutWorld) {
		w.addDaemons(daemonSet())
		before := names(w.live())
		refuse := w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "pods"}, Status: fakeapi.InternalError(),
		})
		w.twin("v1", 7)
		time.Sleep(10 * time.Second)
		require.Len(w, w.controllerRevisions(), 2)
		require.Equal(w, before, names(w.live()), "a Pod that couldn't be relabelled isn't an old one")
		refuse()
		time.Sleep(time.Hour)
		require.Equal(w, before, names(w.live()))
		require.Len(w, w.controllerRevisions(), 1)
	})
}

// The Pod was created, the answer got lost, and the watch is late: the next try makes a second one.
func TestADaemonWhoseAnswerWasLostIsOneTooManyForAMoment(t *testing.T) {
	for _, strategy := range withAndWithoutSurge {
		inDaemons(t, []string{"a"}, func(w *rolloutWorld) {
			w.slowWatch("pods", time.Second)
			w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Times: 1, LoseResponse: true})
			w.watch()
			w.addDaemons(daemonSet(strategy))
			most, _ := w.counted(time.Minute)
			require.Len(w, w.live(), 1, "two agents on one node would use one port")
			require.LessOrEqual(w, most, 2, "the caveat of DaemonSets says so")
		})
	}
}

// The API server deletes an agent, and the answer gets lost: the next try must not take another one.
func TestADaemonRolloutWhoseDeletionLosesItsAnswerKeepsToItsFenceposts(t *testing.T) {
	inDaemons(t, []string{"a", "b", "c"}, func(w *rolloutWorld) {
		w.slowWatch("pods", time.Second)
		w.addDaemons(daemonSet(daemonFenceposts("0", "1")))
		time.Sleep(time.Minute)
		w.Server.Inject(fakeapi.Fault{Match: toPods("delete"), Times: 1, LoseResponse: true}) // not one of the kubelet
		w.watch()
		w.changeDaemons(daemonImage("v2"))
		_, fewest := w.counted(10 * time.Minute)
		require.Equal(w, map[string]string{"a": "v2", "b": "v2", "c": "v2"}, w.onNodes())
		require.Equal(w, 2, fewest, "two agents were missing at the same time")
	})
}
