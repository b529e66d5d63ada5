package scenarios

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// until is the step with what it leads to.
func (s Step) until(wants ...string) Step {
	s.Until = wants
	return s
}

// differs adds what only the originals come to, and what only ours do.
func (s Step) differs(theirs, ours []string) Step {
	s.Theirs, s.Ours = theirs, ours
	return s
}

// act is a step that does one thing with the client.
func act(text string, do func(context.Context, *stage.Stage) error) Step {
	return Step{Text: text, Do: do}
}

// refused is a step that the API server refuses.
func refused(step Step) Step {
	return act(step.Text+", which is refused", func(ctx context.Context, s *stage.Stage) error {
		if err := step.Do(ctx, s); !apierrors.IsForbidden(err) {
			return fmt.Errorf("it was not refused: %v", err)
		}
		return nil
	})
}

// changed is an object with what the scenario changes.
func changed[T any](object T, changes []func(T)) T {
	for _, change := range changes {
		change(object)
	}
	return object
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(web)}, Spec: container(image)}
}

func selector() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: maps.Clone(web)} }

// podsRun says that these Pods run, and are not ending.
func podsRun(names ...string) (all []string) {
	for _, name := range names {
		all = append(all, "Pod/"+name+".status.phase=Running", "Pod/"+name+".metadata.deletionTimestamp=(none)")
	}
	return all
}

// Jobs

func jobs(s *stage.Stage) calls[*batchv1.Job] { return s.Client.BatchV1().Jobs(s.Namespace) }

// job is a Job of Pods that do what the image says, and are not started again on their node.
func job(image string, changes ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: batchv1.JobSpec{Template: template(image)}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return changed(j, changes)
}

func completions(n, atOnce int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = &n, &atOnce }
}

func backoffLimit(n int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.BackoffLimit = &n }
}
func suspended(is bool) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Spec.Suspend = &is } }
func activeFor(seconds int64) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = &seconds }
}

func createJob(j *batchv1.Job) Step { return create("create the Job "+j.Name, j, jobs) }
func editJob(text string, how func(*batchv1.Job)) Step {
	return edit(text, "web", jobs, how)
}

// exits ends the containers of a Pod.
func exits(w which, phase corev1.PodPhase, code int32) Step {
	return say(w, fmt.Sprintf("exits with %d", code), func(p *corev1.Pod, _ metav1.Time) { stage.SetEnded(p, phase, code) })
}

func exitsWell(w which) Step  { return exits(w, corev1.PodSucceeded, 0) }
func exitsBadly(w which) Step { return exits(w, corev1.PodFailed, 1) }

// CronJobs

func cronJobs(s *stage.Stage) calls[*batchv1.CronJob] {
	return s.Client.BatchV1().CronJobs(s.Namespace)
}

// onceAYear is a schedule that starts at the beginning of one day, this many days ago.
func onceAYear(daysAgo int) string {
	day := time.Now().UTC().AddDate(0, 0, -daysAgo)
	return fmt.Sprintf("0 0 %d %d *", day.Day(), day.Month())
}

// cronJob is a CronJob that does nothing for months, unless it has missed a start.
func cronJob(schedule, image string, changes ...func(*batchv1.CronJob)) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: batchv1.CronJobSpec{Schedule: schedule}}
	c.Spec.JobTemplate.Spec = job(image).Spec
	return changed(c, changes)
}

func createCron(c *batchv1.CronJob) Step { return create("create the CronJob "+c.Name, c, cronJobs) }
func editCron(text string, how func(*batchv1.CronJob)) Step {
	return edit(text, "web", cronJobs, how)
}

// missed lets the CronJob have had its last start this many days ago, so that all starts since then are missed.
func missed(daysAgo int) Step {
	return act(fmt.Sprintf("its last start was %d days ago", daysAgo), func(ctx context.Context, s *stage.Stage) error {
		crons := s.Client.BatchV1().CronJobs(s.Namespace)
		return stage.Poll(ctx, "the last start", func() error {
			c, err := crons.Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			c.Status.LastScheduleTime = &metav1.Time{Time: time.Now().AddDate(0, 0, -daysAgo)}
			_, err = crons.UpdateStatus(ctx, c, metav1.UpdateOptions{})
			return err
		})
	})
}

// DaemonSets

func daemonSets(s *stage.Stage) calls[*appsv1.DaemonSet] {
	return s.Client.AppsV1().DaemonSets(s.Namespace)
}

func daemonSet(image string, changes ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DaemonSetSpec{Selector: selector(), Template: template(image)}}
	return changed(d, changes)
}

func createDaemons(d *appsv1.DaemonSet) Step {
	return create("create the DaemonSet "+d.Name, d, daemonSets)
}
func editDaemons(text string, how func(*appsv1.DaemonSet)) Step {
	return edit(text, "web", daemonSets, how)
}
func daemonsRun(image string) Step {
	return editDaemons("change the image to "+image, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = image })
}

func daemonRolling(surge, unavailable string) func(*appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: &s, MaxUnavailable: &u}}
	}
}

func onNodes(names ...string) func(*appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: names},
			}}},
		}}}
	}
}

func on(name string) which {
	return which{"the Pod on " + name, func(p *corev1.Pod) bool { return p.Spec.NodeName == name }}
}

// StatefulSets

func statefulSets(s *stage.Stage) calls[*appsv1.StatefulSet] {
	return s.Client.AppsV1().StatefulSets(s.Namespace)
}

func statefulSet(replicas int32, image string, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: "web", Selector: selector(), Template: template(image)}}
	return changed(set, changes)
}

func createStateful(set *appsv1.StatefulSet) Step {
	return create(fmt.Sprintf("create the StatefulSet %s of %d", set.Name, *set.Spec.Replicas), set, statefulSets)
}
func editStateful(text string, how func(*appsv1.StatefulSet)) Step {
	return edit(text, "web", statefulSets, how)
}
func statefulRuns(image string) Step {
	return editStateful("change the image to "+image, func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = image })
}
func scaleStateful(n int32) Step {
	return editStateful(fmt.Sprintf("scale to %d", n), func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n })
}
func parallel(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }
func partition(n int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}}
	}
}

// claims gives each Pod a claim, which is bound to nothing: the Pods wait for it.
func claims(s *appsv1.StatefulSet) {
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(""),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}}
}

// Nodes

func addNode(name string, change func(*corev1.Node)) Step {
	return act("the node "+name+" joins", func(ctx context.Context, s *stage.Stage) error { return s.AddNode(ctx, name, change) })
}

func silence(name string) Step {
	return act("the node "+name+" falls silent", func(_ context.Context, s *stage.Stage) error {
		s.Silence(name)
		return nil
	})
}

func reports(name, what string, ready corev1.ConditionStatus, change func(*corev1.Node)) Step {
	return act("the node "+name+" reports that it "+what, func(ctx context.Context, s *stage.Stage) error {
		return s.ReportNode(ctx, name, ready, change)
	})
}

func pressed(kind corev1.NodeConditionType) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "Played", LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now()})
	}
}

func editNode(text, name string, how func(*corev1.Node)) Step {
	return act(text, func(ctx context.Context, s *stage.Stage) error {
		return change(ctx, calls[*corev1.Node](s.Client.CoreV1().Nodes()), s.NodeName(name), how)
	})
}

// podOn creates a Pod that is on a node of the stage already. It tolerates the taints for this many seconds, or forever if
// they are negative.
func podOn(node, name string, seconds int64, changes ...func(*corev1.Pod)) Step {
	return act(fmt.Sprintf("create the Pod %s on %s", name, node), func(ctx context.Context, s *stage.Stage) error {
		p := changed(pod(name, web), changes)
		p.Spec.NodeName = s.NodeName(node)
		for _, key := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
			t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
			if seconds >= 0 {
				t.TolerationSeconds = &seconds
			}
			p.Spec.Tolerations = append(p.Spec.Tolerations, t)
		}
		_, err := pods(s).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
}

func leave(ctx context.Context, s *stage.Stage) error {
	return s.Client.CoreV1().Nodes().Delete(ctx, s.NodeName(node), metav1.DeleteOptions{})
}

// Namespaces

func configMaps(s *stage.Stage) calls[*corev1.ConfigMap] {
	return s.Client.CoreV1().ConfigMaps(s.Namespace)
}

func configMap(name string, finalizers ...string) Step {
	return create("create the ConfigMap "+name, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}, configMaps)
}

func freeConfigMap(name string) Step {
	return edit("the finalizers of the ConfigMap "+name+" go", name, configMaps, func(m *corev1.ConfigMap) { m.Finalizers = nil })
}

var deleteNamespace = act("delete the namespace", func(ctx context.Context, s *stage.Stage) error {
	return s.Client.CoreV1().Namespaces().Delete(ctx, s.Namespace, metav1.DeleteOptions{})
})

// says is what a condition of the namespace says.
func says(condition corev1.NamespaceConditionType, status string) string {
	return fmt.Sprintf("Namespace/<namespace>.status.conditions[%s].status=%s", condition, status)
}

const namespaceIsGone = "Namespace=0"

func editNamespace(text string, how func(*corev1.Namespace)) Step {
	return act(text, func(ctx context.Context, s *stage.Stage) error {
		return change(ctx, calls[*corev1.Namespace](s.Client.CoreV1().Namespaces()), s.Namespace, how)
	})
}

// specFinalizers changes the finalizers of the namespace's spec, which has a subresource for that.
func specFinalizers(text string, how func([]corev1.FinalizerName) []corev1.FinalizerName) Step {
	return act(text, func(ctx context.Context, s *stage.Stage) error {
		return stage.Poll(ctx, text, func() error {
			n, err := s.Client.CoreV1().Namespaces().Get(ctx, s.Namespace, metav1.GetOptions{})
			if err != nil {
				return err
			}
			n.Spec.Finalizers = how(n.Spec.Finalizers)
			_, err = s.Client.CoreV1().Namespaces().Finalize(ctx, n, metav1.UpdateOptions{})
			return err
		})
	})
}
