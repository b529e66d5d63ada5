package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// everything is `make mini ALL=1` without a cluster: mini's eleven controllers on an API server in
// memory. size is the recorder's.
type everything struct {
	*observed
	by *mini.Client
}

func runEverything(t *testing.T, size int) *everything {
	t.Helper()
	api := fakeapi.New(fakeapi.Options{})
	t.Cleanup(api.Close)
	by, err := mini.NewCluster(api.Config(), scheme.Scheme)
	require.NoError(t, err)
	cluster, err := mini.NewCluster(api.Config(), scheme.Scheme)
	require.NoError(t, err)
	recorder := trace.New(size)
	cluster.Trace = recorder
	m := mini.NewManager(cluster)
	for _, make := range []func(*mini.Manager) (*mini.Controller, error){
		mini.NewReplicaSetController, mini.NewDeploymentController, mini.NewEndpointsController, mini.NewNamespaceController,
		mini.NewCronJobController, mini.NewDaemonSetController, mini.NewStatefulSetController, mini.NewNodeLifecycleController,
		mini.NewTaintEvictionController,
	} {
		c, err := make(m)
		require.NoError(t, err)
		m.AddController(c)
	}
	jobs, err := mini.NewJobController(m)
	require.NoError(t, err)
	garbage, err := mini.NewGarbageCollector(m, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.DaemonSet{}, &appsv1.StatefulSet{},
		&appsv1.ControllerRevision{}, &batchv1.Job{}, &batchv1.CronJob{}, &corev1.Pod{}, &corev1.Service{}, &corev1.Endpoints{})
	require.NoError(t, err)
	for _, c := range append(jobs, garbage...) {
		m.AddController(c)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	return &everything{&observed{recorder: recorder, xray: xray.New(recorder)}, &mini.Client{Cluster: by}}
}

func (e *everything) create(t *testing.T, obj mini.Object) {
	t.Helper()
	require.NoError(t, e.by.Create(context.Background(), obj))
}

func deploymentOf(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	d.Spec.Replicas, d.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
	return d
}

// pods is how many there are.
func (e *everything) pods(t *testing.T) int {
	t.Helper()
	lw, err := e.by.Cluster.ListWatch(&corev1.Pod{}, "")
	require.NoError(t, err)
	all, _, err := lw.List(context.Background())
	require.NoError(t, err)
	return len(all)
}

// counts waits until the page says that a cache holds as many objects.
func counts(kind string, objects int) step {
	return until(fmt.Sprintf(`document.querySelector('[data-kind=%q] .cache b')?.textContent === %q`, kind, strconv.Itoa(objects)))
}

// The recorder's ring has room for 256 events, and turns a hundred times. Whoever opens the page then, saves it or goes back
// in time sees as many objects as there are, and never a Pod too few or too many.
func TestXRayCountsRightWhenTheRecorderHasForgottenTheBeginning(t *testing.T) {
	browser, _ := start(t)
	e := runEverything(t, 256)
	b := newTab(t, browser)
	for i := range 8 {
		e.create(t, deploymentOf("d"+strconv.Itoa(i), 5))
	}
	require.Eventually(t, func() bool { return e.pods(t) == 40 }, patience, 20*time.Millisecond)
	require.Eventually(t, func() bool { s, _ := e.recorder.State(); return s.Seq > 500 }, patience, 20*time.Millisecond)
	address := e.serve(t)
	require.NoError(t, b.do(screen(), openXRay(address), counts("Pod", 40), counts("Deployment", 8), counts("ReplicaSet", 8)))
	require.NoError(t, e.by.Delete(context.Background(), deploymentOf("d0", 5), metav1.DeleteOptions{}))
	require.NoError(t, b.do(counts("Pod", 35), counts("Deployment", 7)))

	// The total of reconciles is that of all of the time, too.
	var want int
	for _, c := range stateOf(e.recorder).Counts {
		if c.Kind == trace.ReconcileEnd && c.Layer == "deployment" {
			want += c.Total
		}
	}
	require.Greater(t, want, 0)
	said, err := get[string](b, `document.querySelector('[data-controller="deployment"] .workers').textContent`)
	require.NoError(t, err)
	total, err := strconv.Atoi(strings.ReplaceAll(strings.Fields(said)[0], ",", ""))
	require.NoError(t, err, said)
	require.GreaterOrEqual(t, total, want)

	// Back in time, and in what is saved.
	require.NoError(t, b.do(chromedp.KeyEvent("p"), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft)))
	known, err := get[bool](b, `[...document.querySelectorAll('.kind .cache')].every(e => !e.textContent.includes('unknown'))`)
	require.NoError(t, err)
	require.True(t, known)
	answer := httptest.NewRecorder()
	e.xray.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/recording", nil))
	saved := showRecording(t, browser, answer.Body.String())
	require.NoError(t, saved.do(counts("Pod", 35), counts("Deployment", 7)))
	assert.Empty(t, b.wrong())
	assert.Empty(t, saved.wrong())
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: "default", Name: name} }

func stateOf(r *trace.Recorder) trace.State { s, _ := r.State(); return s }

// A recording of an older version begins in the middle. A number that only adds up what it has would be wrong.
func TestXRaySaysThatItDoesNotKnow(t *testing.T) {
	browser, _ := start(t)
	added := trace.Event{Seq: 900, Kind: trace.WatchEvent, Layer: "reflector", Object: "Pod", Namespace: "default", Name: "web-1", Op: "ADDED", Version: "7"}
	listed := trace.Event{Seq: 901, Kind: trace.List, Layer: "listwatch", Object: "Node", Count: 3, Version: "7"}
	var text strings.Builder
	require.NoError(t, trace.WriteJSON(&text, time.Now(), []trace.Event{added, listed}))
	b := showRecording(t, browser, text.String())
	require.NoError(t, b.do(until(shows(`[data-kind="Pod"] .cache`, "unknown")), until(shows(`[data-kind="Node"] .cache`, "3 objects"))))
}

// At the size of a projector the page of all controllers is one picture: one box for each controller,
// the kinds that are used, and wires that cross neither.
func TestXRayShowsElevenControllersOnOneScreen(t *testing.T) {
	browser, _ := start(t)
	e := runEverything(t, 0)
	for i := range 5 {
		e.create(t, deploymentOf("d"+strconv.Itoa(i), 4))
	}
	e.create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d0"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "d0"}, Ports: []corev1.ServicePort{{Port: 80}}}})
	pod := deploymentOf("any", 1).Spec.Template
	job := batchv1.JobSpec{Template: pod}
	job.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	any := metav1.ObjectMeta{Namespace: "default", Name: "any"}
	e.create(t, &batchv1.CronJob{ObjectMeta: any, Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: job}}})
	e.create(t, &batchv1.Job{ObjectMeta: any, Spec: job})
	selector := &metav1.LabelSelector{MatchLabels: pod.Labels}
	e.create(t, &appsv1.StatefulSet{ObjectMeta: any, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: pod}})
	e.create(t, &appsv1.DaemonSet{ObjectMeta: any, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pod}})
	for _, look := range []string{"light", "dark"} {
		b := newTab(t, browser)
		require.NoError(t, b.do(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: desktop, Height: 720, DeviceScaleFactor: 1}),
			inColors(look), openXRay(e.serve(t)), until(`document.querySelectorAll('.controller').length >= 11`), until(shows(".controller h3", "job")), until(`document.querySelectorAll('.wires .ask').length > 5`)))
		boxes, err := get[[]string](b, `[...document.querySelectorAll('.controller')].map(e => e.dataset.controller)`)
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"replicaset", "deployment", "endpoints", "namespace", "cronjob", "daemonset", "statefulset", "nodelifecycle",
			"tainteviction", "job", "garbage"}, boxes)
		empty, err := get[[]string](b, `[...document.querySelectorAll('.kind')].filter(e => / ?\b0 objects/.test(e.textContent)).map(e => e.textContent)`)
		require.NoError(t, err)
		assert.Empty(t, empty, "kinds without objects are folded")
		require.NoError(t, b.do(until(shows(".fold", "without objects"))))
		height, err := get[int](b, `document.documentElement.scrollHeight`)
		require.NoError(t, err)
		assert.LessOrEqual(t, height, 900, "a page of 720 pixels needs little scrolling")
		crossed, err := get[[]string](b, crossings)
		require.NoError(t, err)
		assert.Empty(t, crossed)
		require.NoError(t, keep(b, "xray-eleven-"+look))
		assert.Empty(t, b.wrong())
	}
	b := newTab(t, browser)
	require.NoError(t, b.do(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 2, Mobile: true}),
		openXRay(e.serve(t)), until(`document.querySelectorAll('.controller').length >= 11`)))
	wide, err := get[int](b, `document.documentElement.scrollWidth`)
	require.NoError(t, err)
	assert.LessOrEqual(t, wide, 390)
	require.NoError(t, keep(b, "xray-eleven-phone"))
}

// Whoever opens the page has a question, and the answer is rarely the controller that came first.
func TestWhatIsStuckOrWorksComesFirst(t *testing.T) {
	browser, _ := start(t)
	failed := onRequest(trace.ReconcileEnd, "stuck", "one")
	failed.Outcome, failed.Reason, failed.At = trace.Failed, "no", time.Minute
	waits := onRequest(trace.Enqueue, "works", "one")
	waits.At = time.Minute
	b := showEvents(t, browser, onRequest(trace.ReconcileEnd, "idle", "one"), onRequest(trace.ReconcileEnd, "works", "one"), waits,
		onRequest(trace.ReconcileEnd, "stuck", "two"), failed, failed, failed)
	require.NoError(t, b.do(until(`[...document.querySelectorAll('.controller')].map(e => e.dataset.controller).join() === 'stuck,works,idle'`)))
}

// Each change of a Pod asks the controllers of nodes for a reconcile of the Pod's node. While twenty Pods are rolled out these reconcile
// often, write nothing, and are all right. One object that asks all the time is waste, and blocks no one either.
func TestAControllerThatReconcilesOftenAndWritesNothingIsNotStuck(t *testing.T) {
	browser, _ := start(t)
	asked := func(i int, controller, kind, name string) []trace.Event {
		asks := asks(controller, kind, name)
		asks.ToName = "node-1"
		all := []trace.Event{asks, onRequest(trace.Enqueue, controller, "node-1"), onRequest(trace.Dequeue, controller, "node-1"),
			onRequest(trace.ReconcileStart, controller, "node-1"), onRequest(trace.ReconcileEnd, controller, "node-1"), onRequest(trace.Done, controller, "node-1")}
		for n := range all {
			all[n].At = time.Duration(i) * 100 * time.Millisecond
		}
		return all
	}
	failed := onRequest(trace.ReconcileEnd, "fails", "one")
	failed.Outcome, failed.Reason, failed.At = trace.Failed, "no", 6*time.Second
	var events []trace.Event
	for i := range 60 {
		events = append(events, asked(i, "eviction", "Pod", fmt.Sprintf("web-%d", i%20))...)
		events = append(events, asked(i, "heartbeat", "Node", "node-1")...)
	}
	b := showEvents(t, browser, append(events, failed, failed, failed)...)
	require.NoError(t, b.do(until(`document.querySelectorAll('.controller').length === 3`)))
	stuck, err := get[[]string](b, `[...document.querySelectorAll('.controller.stuck')].map(e => e.dataset.controller)`)
	require.NoError(t, err)
	assert.Equal(t, []string{"fails"}, stuck)
	said, err := get[string](b, `document.querySelector('.troubles').textContent`)
	require.NoError(t, err)
	assert.Contains(t, said, "heartbeat has reconciled default/node-1 60 times in 10 s, and most of them wrote nothing: each change of Node default/node-1 asks for one.")
	assert.NotContains(t, said, "eviction")
}

// An event is seen on its way: along the wire from the API server, to the controllers, and back as a write. Who has asked the
// system for less motion sees the wires light up.
func TestAnEventTravelsAlongTheWires(t *testing.T) {
	browser, _ := start(t)
	o := observe(t)
	b := newTab(t, browser)
	motion := call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "no-preference"}},
	})
	require.NoError(t, b.do(screen(), motion, openXRay(o.serve(t)), until(shows(".kind h3", "ConfigMap"))))
	require.NoError(t, o.client.Create(context.Background(), configMap("web")))
	// The middle of a traveller is on its way if it is right of the API server and left of what it travels to.
	onItsWay := func(from, to string) step {
		return until(fmt.Sprintf(`[...document.querySelectorAll('.traveller')].some(e => {
			const r = e.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2
			const from = document.querySelector(%q).getBoundingClientRect(), to = document.querySelector(%q).getBoundingClientRect()
			return r.width > 0 && x > from.right && x < to.left && y > from.top && y < document.querySelector('.loop').getBoundingClientRect().bottom
		})`, from, to))
	}
	require.NoError(t, b.do(onItsWay(".kind", ".controller")))
	require.NoError(t, keep(b, "xray-travels"))
	assert.Empty(t, b.wrong())
}

// crossings are the points of wires that are within a box.
const crossings = `(() => {
	const boxes = [...document.querySelectorAll('.kind, .controller, .cache')].map(e => ({ name: e.className + ' ' + e.textContent.slice(0, 20), r: e.getBoundingClientRect() }))
	const svg = document.querySelector('.wires').getBoundingClientRect()
	const wrong = new Set()
	for (const path of document.querySelectorAll('.wires path')) {
		const length = path.getTotalLength()
		for (let at = 0; at <= length; at += 4) {
			const p = path.getPointAtLength(at), x = p.x + svg.left, y = p.y + svg.top
			for (const { name, r } of boxes) if (x > r.left + 1 && x < r.right - 1 && y > r.top + 1 && y < r.bottom - 1) wrong.add(path.getAttribute('d') + ' crosses ' + name)
		}
	}
	return [...wrong]
})()`

// A user asks why the Deployment d4 is as it is. The garbage collector, which looks at everything, isn't
// the answer, and neither is what predicates have filtered out.
func TestTheStoryOfADeploymentIsThatOfTheDeploymentController(t *testing.T) {
	browser, _ := start(t)
	e := runEverything(t, 0)
	e.create(t, deploymentOf("d4", 3))
	require.Eventually(t, func() bool { return e.pods(t) == 3 }, patience, 20*time.Millisecond)
	b := newTab(t, browser)
	require.NoError(t, b.do(screen(), openXRay(e.serve(t)), counts("Pod", 3), search("Deployment default/d4"),
		until(shows(".why-line", "deployment reconciled default/d4 at "))))
	told, err := get[[]string](b, `[...document.querySelectorAll('.story > ol .layer')].map(e => e.textContent)`)
	require.NoError(t, err)
	assert.Contains(t, told, "deployment")
	assert.NotContains(t, told, "garbage-deployment")
	lines, err := get[[]string](b, `[...document.querySelectorAll('.story > ol li')].map(e => e.textContent).filter(t => t.includes('filtered out'))`)
	require.NoError(t, err)
	assert.Empty(t, lines)
	aside, err := get[string](b, `document.querySelector('.story .aside summary').textContent`)
	require.NoError(t, err)
	assert.Regexp(t, `^Besides: .*\d+ of garbage-deployment`, aside)
	open, err := get[bool](b, `document.querySelector('.story .aside').open`)
	require.NoError(t, err)
	assert.False(t, open, "it is one line until somebody wants more")
	require.NoError(t, keep(b, "xray-story"))
	assert.Empty(t, b.wrong())
}

func TestTheSearchFindsWhatIsThere(t *testing.T) {
	browser, _ := start(t)
	listed := trace.Event{Kind: trace.List, Layer: "listwatch", Object: "Pod", Count: 1}
	added := trace.Event{Kind: trace.WatchEvent, Layer: "listwatch", Object: "Secret", Namespace: "default", Name: "password", Op: "ADDED", Version: "3"}
	b := showEvents(t, browser, listed, asks("shop", "Order", "web"), onRequest(trace.Enqueue, "shop", "web"), asks("shop", "Order", "webhook"), added)
	field := `document.querySelector('input[type=search]')`
	typed := func(text string) step {
		return chromedp.Steps(in(field+`.focus(); `+field+`.select()`), chromedp.KeyEvent(text))
	}
	offered := func(want ...string) step {
		return until(fmt.Sprintf(`[...document.querySelectorAll('#found li')].map(e => e.textContent).join() === %q`, strings.Join(want, ",")))
	}
	heads := func(title string) step {
		return until(fmt.Sprintf(`document.querySelector('.story h2')?.textContent === %q`, title))
	}
	require.NoError(t, b.do(typed("web"), offered("Order default/web", "Order default/webhook")))
	require.NoError(t, keep(b, "xray-search"))
	for _, text := range []string{"web", "Order web", "order web", "default/web", "Order default/web", "ord default/web"} {
		require.NoError(t, b.do(typed(text+kb.Enter), heads("Order default/web"), chromedp.KeyEvent(kb.Escape), until(`!document.querySelector('.story')`)), text)
	}
	require.NoError(t, b.do(typed("web"+kb.ArrowDown+kb.ArrowDown+kb.Enter), heads("Order default/webhook"), chromedp.KeyEvent(kb.Escape)))

	// A typo is one, and an object that nothing reconciles isn't.
	require.NoError(t, b.do(typed("wbe"+kb.Enter), until(shows(".missed", "X-ray knows no object like wbe: is it one of these?")), offered("Order default/web")))
	require.NoError(t, b.do(typed("nothing"+kb.Enter), until(shows(".missed", "nothing has happened to it")), offered()))
	require.NoError(t, b.do(typed("passw"+kb.Enter), heads("Secret default/password"), until(shows(".why-line", "is known, but nothing here reconciled it"))))

	// Escape closes the list first, and then the story.
	require.NoError(t, b.do(typed("web"), offered("Order default/web", "Order default/webhook"), chromedp.KeyEvent(kb.Escape), offered(), heads("Secret default/password"),
		chromedp.KeyEvent(kb.Escape), until(`!document.querySelector('.story')`)))
	assert.Empty(t, b.wrong())
}

// Two rollouts hang, and no part of the machinery does.
func TestXRaySaysWhatIsNotStuckAndWhichObjectsSayThatTheyAre(t *testing.T) {
	browser, _ := start(t)
	o := observe(t)
	pods := []string{"one", "two"}
	for _, name := range pods {
		require.NoError(t, o.client.Create(context.Background(), configMap(name)))
	}
	b := newTab(t, browser)
	require.NoError(t, b.do(screen(), openXRay(o.serve(t)), counts("Pod", 2), until(shows(".troubles", "No queue, watch or worker is stuck."))))
	for _, name := range pods {
		pod := &corev1.Pod{}
		require.NoError(t, o.client.Get(context.Background(), keyOf(name), pod))
		pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "False", Reason: "ContainersNotReady", Message: "unready: [web]",
			LastTransitionTime: metav1.NewTime(time.Now().Add(-3 * time.Minute))}}
		require.NoError(t, o.client.Status().Update(context.Background(), pod))
	}
	require.NoError(t, b.do(until(shows(".troubles .says", "isn’t getting anywhere: Ready is False: ContainersNotReady: unready: [web], for 3 min.")),
		until(shows(".troubles .says", "1 more Pod too.")), until(shows(".troubles", "No queue, watch or worker is stuck."))))
	require.NoError(t, keep(b, "xray-says"))
	require.NoError(t, b.do(in(`document.querySelector('.says button').click()`), until(shows(".story h2", "Pod default/"))))
	for _, name := range pods {
		require.NoError(t, o.client.Delete(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
	}
	require.NoError(t, b.do(until(`!document.querySelector('.says')`)))
	assert.Empty(t, b.wrong())
}
