package fakeapi

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the server knows about pods beyond storing them.

func defaultPod(obj runtime.Object) {
	pod := obj.(*corev1.Pod)
	defaultPodIPs(&pod.Status)
	spec := &pod.Spec
	spec.EnableServiceLinks = or(spec.EnableServiceLinks, true)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			defaultRequests(&containers[i].Resources)
		}
	}
	defaultPodSpec(spec)
}

// defaultPodIPs keeps the old single address and the list of them in step.
func defaultPodIPs(status *corev1.PodStatus) {
	switch {
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
}

// defaultRequests makes a limit without a request the request.
func defaultRequests(resources *corev1.ResourceRequirements) {
	for name, quantity := range resources.Limits {
		if _, ok := resources.Requests[name]; ok {
			continue
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Requests[name] = quantity.DeepCopy()
	}
}

func defaultPodSpec(spec *corev1.PodSpec) {
	orElse(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orElse(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orElse(&spec.SchedulerName, corev1.DefaultSchedulerName)
	spec.SecurityContext = or(spec.SecurityContext, corev1.PodSecurityContext{})
	spec.TerminationGracePeriodSeconds = or(spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			defaultContainer(&containers[i])
		}
	}
}

func defaultContainer(c *corev1.Container) {
	orElse(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orElse(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = corev1.PullIfNotPresent
		// No tag means latest. A colon before a slash belongs to a port.
		tag := c.Image[strings.LastIndex(c.Image, "/")+1:]
		if !strings.Contains(tag, "@") && (!strings.Contains(tag, ":") || strings.HasSuffix(tag, ":latest")) {
			c.ImagePullPolicy = corev1.PullAlways
		}
	}
	for i := range c.Ports {
		orElse(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil {
			continue
		}
		orElse(&probe.TimeoutSeconds, 1)
		orElse(&probe.PeriodSeconds, 10)
		orElse(&probe.SuccessThreshold, 1)
		orElse(&probe.FailureThreshold, 3)
		if probe.HTTPGet != nil {
			orElse(&probe.HTTPGet.Path, "/")
			orElse(&probe.HTTPGet.Scheme, corev1.URISchemeHTTP)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			orElse(&from.FieldRef.APIVersion, "v1")
		}
	}
}

// creatingPod ignores the status that a client sent: pods start out pending.
func creatingPod(obj runtime.Object) {
	pod := obj.(*corev1.Pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(&pod.Spec)}
}

// qosClass is Guaranteed if every container limits cpu and memory to what it
// requests, BestEffort if none asks for anything, and Burstable in between.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, bestEffort := true, true
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range containers {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit, limited := c.Resources.Limits[name]
				request, requested := c.Resources.Requests[name]
				bestEffort = bestEffort && !limited && !requested
				guaranteed = guaranteed && limited && !limit.IsZero() && limit.Cmp(request) == 0
			}
		}
	}
	switch {
	case bestEffort:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

func updatingPodStatus(obj, old runtime.Object) {
	pod, before := obj.(*corev1.Pod), old.(*corev1.Pod)
	pod.OwnerReferences = before.DeepCopy().OwnerReferences
	orElse(&pod.Status.QOSClass, before.Status.QOSClass)
}

func validatePod(obj, old runtime.Object) field.ErrorList {
	pod := obj.(*corev1.Pod)
	errs := validateContainers(pod.Spec.Containers, field.NewPath("spec", "containers"))
	if old == nil {
		return errs
	}
	before := old.(*corev1.Pod)
	// Images, tolerations and deadlines may change, and gates may be lifted.
	// Everything else that a pod asked for was decided at creation.
	rest := pod.Spec.DeepCopy()
	for _, pair := range [][2][]corev1.Container{{rest.Containers, before.Spec.Containers}, {rest.InitContainers, before.Spec.InitContainers}} {
		for i := range min(len(pair[0]), len(pair[1])) {
			pair[0][i].Image = pair[1][i].Image
		}
	}
	rest.ActiveDeadlineSeconds = before.Spec.ActiveDeadlineSeconds
	rest.Tolerations = before.Spec.Tolerations
	rest.SchedulingGates = before.Spec.SchedulingGates
	was, now := before.Spec.TerminationGracePeriodSeconds, rest.TerminationGracePeriodSeconds
	if was != nil && *was < 0 && now != nil && *now == 1 {
		rest.TerminationGracePeriodSeconds = was
	}
	if len(before.Spec.SchedulingGates) > 0 {
		rest.NodeSelector, rest.Affinity = before.Spec.NodeSelector, before.Spec.Affinity
	}
	if !equality.Semantic.DeepEqual(rest, &before.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"))
	}
	return errs
}

func validateContainers(containers []corev1.Container, path *field.Path) field.ErrorList {
	if len(containers) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, c := range containers {
		at := path.Index(i)
		switch {
		case c.Name == "":
			errs = append(errs, field.Required(at.Child("name"), ""))
		case seen[c.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		default:
			for _, problem := range validation.IsDNS1123Label(c.Name) {
				errs = append(errs, field.Invalid(at.Child("name"), c.Name, problem))
			}
		}
		seen[c.Name] = true
		if c.Image == "" {
			errs = append(errs, field.Required(at.Child("image"), ""))
		}
	}
	return errs
}

// podGrace: only a kubelet can end a running pod, so only a pod that is bound
// to a node and has not finished waits for one.
func podGrace(obj runtime.Object, asked *int64) int64 {
	pod := obj.(*corev1.Pod)
	var period int64
	switch {
	case asked != nil:
		period = *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		period = 1
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	return period
}

var podFieldNames = []string{
	"metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
	"spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
}

func podFields(obj runtime.Object) fields.Set {
	pod := obj.(*corev1.Pod)
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         fmt.Sprint(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             pod.Status.PodIP,
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}
