package kubectl

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
)

// A real API server makes these cells, and kubectl prints them. The one in memory doesn't.

const none = "<none>"

// as returns an object as its Go type.
func as[T any](u *unstructured.Unstructured) (*T, error) {
	obj := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return obj, nil
}

// row makes cells of a Go type.
func row[T any](u *unstructured.Unstructured, cells func(*T) []any) ([]string, error) {
	obj, err := as[T](u)
	if err != nil {
		return nil, err
	}
	all := []string{u.GetName()}
	for _, cell := range cells(obj) {
		all = append(all, fmt.Sprint(cell))
	}
	return all, nil
}

func age(since metav1.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(since.Time))
}

// containers are the cells CONTAINERS and IMAGES.
func containers(all []corev1.Container) (names, images string) {
	var n, i []string
	for _, c := range all {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

func podCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(pod *corev1.Pod) []any {
		ready, restarts, last := 0, 0, metav1.Time{}
		for _, c := range pod.Status.ContainerStatuses {
			restarts += int(c.RestartCount)
			if c.Ready && c.State.Running != nil {
				ready++
			}
			if t := c.LastTerminationState.Terminated; t != nil && last.Before(&t.FinishedAt) {
				last = t.FinishedAt
			}
		}
		again := fmt.Sprint(restarts)
		if restarts > 0 && !last.IsZero() {
			again += fmt.Sprintf(" (%s ago)", age(last))
		}
		return []any{fmt.Sprintf("%d/%d", ready, len(pod.Spec.Containers)), PodStatus(pod), again, age(pod.CreationTimestamp),
			cmp.Or(pod.Status.PodIP, none), cmp.Or(pod.Spec.NodeName, none), cmp.Or(pod.Status.NominatedNodeName, none), none}
	})
}

// PodStatus is what kubectl has in the column STATUS: the phase, or what keeps a container from
// running. Init containers are left out.
func PodStatus(pod *corev1.Pod) string {
	reason := cmp.Or(pod.Status.Reason, string(pod.Status.Phase))
	running := false
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			reason = cmp.Or(c.State.Terminated.Reason, fmt.Sprintf("ExitCode:%d", c.State.Terminated.ExitCode))
		case c.State.Running != nil && c.Ready:
			running = true
		}
	}
	if reason == "Completed" && running {
		reason = "Running"
	}
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp != nil && pod.Status.Reason == "NodeLost":
		return "Unknown"
	case pod.DeletionTimestamp != nil && !over:
		return "Terminating"
	}
	return reason
}

func serviceCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(s *corev1.Service) []any {
		address, external := none, none
		if len(s.Spec.ClusterIPs) > 0 {
			address = s.Spec.ClusterIPs[0]
		}
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			external = "<pending>"
		}
		var ports []string
		for _, p := range s.Spec.Ports {
			ports = append(ports, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
		}
		return []any{s.Spec.Type, address, external, cmp.Or(strings.Join(ports, ","), none), age(s.CreationTimestamp),
			labels.FormatLabels(s.Spec.Selector)}
	})
}

func endpointsCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(e *corev1.Endpoints) []any {
		var all []string
		for _, s := range e.Subsets {
			for _, a := range s.Addresses {
				if len(s.Ports) == 0 {
					all = append(all, a.IP)
				}
				for _, p := range s.Ports {
					all = append(all, net.JoinHostPort(a.IP, fmt.Sprint(p.Port)))
				}
			}
		}
		const shown = 3
		text := strings.Join(all[:min(shown, len(all))], ",")
		if more := len(all) - shown; more > 0 {
			text += fmt.Sprintf(" + %d more...", more)
		}
		return []any{cmp.Or(text, none), age(e.CreationTimestamp)}
	})
}

func deploymentCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(d *appsv1.Deployment) []any {
		names, images := containers(d.Spec.Template.Spec.Containers)
		return []any{fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, ptr.Deref(d.Spec.Replicas, 1)), d.Status.UpdatedReplicas,
			d.Status.AvailableReplicas, age(d.CreationTimestamp), names, images, metav1.FormatLabelSelector(d.Spec.Selector)}
	})
}

func replicaSetCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(rs *appsv1.ReplicaSet) []any {
		names, images := containers(rs.Spec.Template.Spec.Containers)
		return []any{ptr.Deref(rs.Spec.Replicas, 1), rs.Status.Replicas, rs.Status.ReadyReplicas, age(rs.CreationTimestamp),
			names, images, metav1.FormatLabelSelector(rs.Spec.Selector)}
	})
}

func daemonSetCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(d *appsv1.DaemonSet) []any {
		names, images := containers(d.Spec.Template.Spec.Containers)
		s := d.Status
		return []any{s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberReady, s.UpdatedNumberScheduled, s.NumberAvailable,
			labels.FormatLabels(d.Spec.Template.Spec.NodeSelector), age(d.CreationTimestamp), names, images,
			metav1.FormatLabelSelector(d.Spec.Selector)}
	})
}

func statefulSetCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(s *appsv1.StatefulSet) []any {
		names, images := containers(s.Spec.Template.Spec.Containers)
		return []any{fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 1)), age(s.CreationTimestamp), names, images}
	})
}

func jobCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(j *batchv1.Job) []any {
		completions, took := fmt.Sprintf("%d/%d", j.Status.Succeeded, ptr.Deref(j.Spec.Completions, 1)), ""
		if parallel := ptr.Deref(j.Spec.Parallelism, 0); j.Spec.Completions == nil && parallel > 1 {
			completions += fmt.Sprintf(" of %d", parallel)
		}
		if began := j.Status.StartTime; began != nil {
			ended := metav1.Now()
			if j.Status.CompletionTime != nil {
				ended = *j.Status.CompletionTime
			}
			took = duration.HumanDuration(ended.Sub(began.Time))
		}
		names, images := containers(j.Spec.Template.Spec.Containers)
		return []any{jobStatus(j), completions, took, age(j.CreationTimestamp), names, images, metav1.FormatLabelSelector(j.Spec.Selector)}
	})
}

func jobStatus(j *batchv1.Job) string {
	is := map[batchv1.JobConditionType]bool{}
	for _, c := range j.Status.Conditions {
		is[c.Type] = c.Status == corev1.ConditionTrue
	}
	switch {
	case is[batchv1.JobComplete]:
		return "Complete"
	case is[batchv1.JobFailed]:
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is[batchv1.JobSuspended]:
		return "Suspended"
	case is[batchv1.JobFailureTarget]:
		return "FailureTarget"
	case is[batchv1.JobSuccessCriteriaMet]:
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func cronJobCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(c *batchv1.CronJob) []any {
		last := none
		if c.Status.LastScheduleTime != nil {
			last = age(*c.Status.LastScheduleTime)
		}
		suspend := "False"
		if ptr.Deref(c.Spec.Suspend, false) {
			suspend = "True"
		}
		names, images := containers(c.Spec.JobTemplate.Spec.Template.Spec.Containers)
		return []any{c.Spec.Schedule, ptr.Deref(c.Spec.TimeZone, none), suspend, len(c.Status.Active), last,
			age(c.CreationTimestamp), names, images, metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector)}
	})
}

func nodeCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(n *corev1.Node) []any {
		address, info := none, n.Status.NodeInfo
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				address = a.Address
			}
		}
		const unknown = "<unknown>"
		kernel := cmp.Or(info.KernelVersion, unknown)
		if info.Architecture != "" {
			kernel += " (" + info.Architecture + ")"
		}
		return []any{nodeStatus(n), none, age(n.CreationTimestamp), info.KubeletVersion, address, none,
			cmp.Or(info.OSImage, unknown), kernel, cmp.Or(info.ContainerRuntimeVersion, unknown)}
	})
}

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			status = "Ready"
		default:
			status = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func namespaceCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(n *corev1.Namespace) []any { return []any{n.Status.Phase, age(n.CreationTimestamp)} })
}

func configMapCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(c *corev1.ConfigMap) []any {
		return []any{len(c.Data) + len(c.BinaryData), age(c.CreationTimestamp)}
	})
}

func secretCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(s *corev1.Secret) []any { return []any{s.Type, len(s.Data), age(s.CreationTimestamp)} })
}

func leaseCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(l *coordinationv1.Lease) []any {
		return []any{ptr.Deref(l.Spec.HolderIdentity, ""), age(l.CreationTimestamp)}
	})
}

func revisionCells(u *unstructured.Unstructured) ([]string, error) {
	return row(u, func(r *appsv1.ControllerRevision) []any {
		owner := none
		if ref := metav1.GetControllerOf(r); ref != nil {
			group, _, _ := strings.Cut(ref.APIVersion, "/")
			owner = strings.ToLower(ref.Kind) + "." + group + "/" + ref.Name
		}
		return []any{owner, r.Revision, age(r.CreationTimestamp)}
	})
}
