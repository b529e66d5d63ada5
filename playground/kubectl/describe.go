package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// describe tells about objects in words: less than kubectl does, in its order. There are no
// events, because nothing here records any.
func describe(ctx context.Context, c *call) error {
	wanted, err := targets(c.args)
	if err != nil {
		return err
	}
	first, failed, empty := true, []error(nil), []*kind(nil)
	for _, t := range wanted {
		objs, _, err := c.objects(ctx, t)
		if err != nil {
			failed = append(failed, said(err))
			continue
		}
		if len(objs) == 0 {
			empty = append(empty, t.kind)
		}
		for i := range objs {
			text := &text{}
			if err := c.describeOne(ctx, text, t.kind, &objs[i]); err != nil {
				return err
			}
			if !first {
				_ = c.say("\n")
			}
			first = false
			if err := c.say("%s", text); err != nil {
				return err
			}
		}
	}
	if first && len(failed) == 0 && len(empty) > 0 {
		return c.nothing(empty[0])
	}
	return join(failed)
}

func (c *call) describeOne(ctx context.Context, t *text, k *kind, u *unstructured.Unstructured) error {
	t.line("Name", u.GetName())
	if !k.cluster {
		t.line("Namespace", u.GetNamespace())
	}
	switch k.name {
	case "Deployment":
		d, err := as[appsv1.Deployment](u)
		if err != nil {
			return err
		}
		sets, err := c.revisions(ctx, d)
		if err != nil {
			return err
		}
		t.deployment(d, sets)
	case "ReplicaSet":
		rs, err := as[appsv1.ReplicaSet](u)
		if err != nil {
			return err
		}
		t.replicaSet(rs)
	case "Pod":
		pod, err := as[corev1.Pod](u)
		if err != nil {
			return err
		}
		t.pod(pod)
	case "Node":
		n, err := as[corev1.Node](u)
		if err != nil {
			return err
		}
		t.node(n)
	default:
		t.metadata(u)
		rest := maps.Clone(u.Object)
		for _, key := range []string{"apiVersion", "kind", "metadata"} {
			delete(rest, key)
		}
		document, err := encode(rest, "yaml")
		if err != nil {
			return err
		}
		t.WriteString(document + "\n")
	}
	t.line("Events", none)
	return nil
}

// text is a description.
type text struct{ strings.Builder }

// String leaves out the end of the last line, as fmt adds one.
func (t *text) String() string { return strings.TrimSuffix(t.Builder.String(), "\n") }

// line writes a name and a value below the others.
func (t *text) line(name string, value any) { fmt.Fprintf(t, "%-24s%v\n", name+":", value) }

// lines writes a value for each key.
func (t *text) lines(name string, values map[string]string) {
	if len(values) == 0 {
		t.line(name, none)
	}
	for i, key := range slices.Sorted(maps.Keys(values)) {
		label := name + ":"
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(t, "%-24s%s=%s\n", label, key, values[key])
	}
}

func (t *text) metadata(obj metav1.Object) {
	t.lines("Labels", obj.GetLabels())
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	t.lines("Annotations", annotations)
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		t.line("Controlled By", ref.Kind+"/"+ref.Name)
	}
	if at := obj.GetDeletionTimestamp(); at != nil {
		t.line("Status", fmt.Sprintf("Terminating (lasts %s)", age(*at)))
	}
}

func (t *text) deployment(d *appsv1.Deployment, sets []revision) {
	t.line("CreationTimestamp", d.CreationTimestamp.Format(time.RFC1123Z))
	t.metadata(d)
	t.line("Selector", metav1.FormatLabelSelector(d.Spec.Selector))
	s := d.Status
	t.line("Replicas", fmt.Sprintf("%d desired | %d updated | %d total | %d available | %d unavailable",
		ptr.Deref(d.Spec.Replicas, 1), s.UpdatedReplicas, s.Replicas, s.AvailableReplicas, s.UnavailableReplicas))
	t.line("StrategyType", d.Spec.Strategy.Type)
	t.line("MinReadySeconds", d.Spec.MinReadySeconds)
	if ru := d.Spec.Strategy.RollingUpdate; ru != nil {
		t.line("RollingUpdateStrategy", fmt.Sprintf("%s max unavailable, %s max surge", ru.MaxUnavailable, ru.MaxSurge))
	}
	t.template(&d.Spec.Template)
	var rows [][]string
	for _, c := range s.Conditions {
		rows = append(rows, []string{string(c.Type), string(c.Status), c.Reason})
	}
	t.conditions([]string{"Type", "Status", "Reason"}, rows)
	newest, old := none, []string(nil)
	for i, r := range sets {
		text := fmt.Sprintf("%s (%d/%d replicas created)", r.set.Name, r.set.Status.Replicas, ptr.Deref(r.set.Spec.Replicas, 1))
		if i == len(sets)-1 {
			newest = text
		} else {
			old = append(old, text)
		}
	}
	t.line("OldReplicaSets", cmp.Or(strings.Join(old, ", "), none))
	t.line("NewReplicaSet", newest)
}

func (t *text) replicaSet(rs *appsv1.ReplicaSet) {
	t.line("Selector", metav1.FormatLabelSelector(rs.Spec.Selector))
	t.metadata(rs)
	t.line("Replicas", fmt.Sprintf("%d current / %d desired", rs.Status.Replicas, ptr.Deref(rs.Spec.Replicas, 1)))
	t.line("Ready", rs.Status.ReadyReplicas)
	t.template(&rs.Spec.Template)
}

func (t *text) template(template *corev1.PodTemplateSpec) {
	t.WriteString("Pod Template:\n")
	for i, key := range slices.Sorted(maps.Keys(template.Labels)) {
		fmt.Fprintf(t, "  %-9s%s=%s\n", map[bool]string{true: "Labels:"}[i == 0], key, template.Labels[key])
	}
	t.WriteString("  Containers:\n")
	for _, c := range template.Spec.Containers {
		fmt.Fprintf(t, "   %s:\n    Image:  %s\n", c.Name, c.Image)
	}
}

// conditions writes a table below a headline.
func (t *text) conditions(headers []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	t.WriteString("Conditions:\n")
	lines := make([]string, len(headers))
	for i, h := range headers {
		headers[i], lines[i] = h, strings.Repeat("-", len(h))
	}
	for _, row := range append([][]string{headers, lines}, rows...) {
		fmt.Fprintf(t, "  %-16s%-8s%s\n", row[0], row[1], row[2])
	}
}

func (t *text) pod(pod *corev1.Pod) {
	t.line("Node", cmp.Or(pod.Spec.NodeName, none))
	if began := pod.Status.StartTime; began != nil {
		t.line("Start Time", began.Format(time.RFC1123Z))
	}
	t.metadata(pod)
	if pod.DeletionTimestamp == nil {
		t.line("Status", pod.Status.Phase)
	}
	t.line("IP", pod.Status.PodIP)
	t.WriteString("Containers:\n")
	for i, c := range pod.Spec.Containers {
		fmt.Fprintf(t, "  %s:\n    Image:          %s\n", c.Name, c.Image)
		if i >= len(pod.Status.ContainerStatuses) {
			continue
		}
		s := pod.Status.ContainerStatuses[i]
		t.state("State", s.State)
		t.state("Last State", s.LastTerminationState)
		fmt.Fprintf(t, "    Ready:          %s\n    Restart Count:  %d\n", map[bool]string{true: "True", false: "False"}[s.Ready], s.RestartCount)
	}
	var rows [][]string
	for _, c := range pod.Status.Conditions {
		rows = append(rows, []string{string(c.Type), string(c.Status), ""})
	}
	t.conditions([]string{"Type", "Status", ""}, rows)
}

func (t *text) state(name string, s corev1.ContainerState) {
	name += ":"
	switch {
	case s.Running != nil:
		fmt.Fprintf(t, "    %-16sRunning\n      Started:      %s\n", name, s.Running.StartedAt.Format(time.RFC1123Z))
	case s.Waiting != nil:
		fmt.Fprintf(t, "    %-16sWaiting\n      Reason:       %s\n", name, s.Waiting.Reason)
	case s.Terminated != nil:
		fmt.Fprintf(t, "    %-16sTerminated\n      Reason:       %s\n      Exit Code:    %d\n", name, s.Terminated.Reason, s.Terminated.ExitCode)
	}
}

func (t *text) node(n *corev1.Node) {
	t.metadata(n)
	var taints []string
	for _, taint := range n.Spec.Taints {
		taints = append(taints, taint.ToString())
	}
	t.line("Taints", cmp.Or(strings.Join(taints, "\n"+strings.Repeat(" ", 24)), none))
	t.line("Unschedulable", n.Spec.Unschedulable)
	var rows [][]string
	for _, c := range n.Status.Conditions {
		rows = append(rows, []string{string(c.Type), string(c.Status), c.Reason})
	}
	t.conditions([]string{"Type", "Status", "Reason"}, rows)
}
