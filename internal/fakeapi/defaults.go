package fakeapi

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The defaults here are the ones that controllers read. The real server has
// hundreds more, in packages that are not published as a library; the package
// comment lists what is missing.

// or returns p, or a pointer to value if p is nil.
func or[T any](p *T, value T) *T {
	if p == nil {
		return &value
	}
	return p
}

// orElse replaces a zero value.
func orElse[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

func defaultDeployment(obj runtime.Object) {
	spec := &obj.(*appsv1.Deployment).Spec
	spec.Replicas = or(spec.Replicas, 1)
	spec.RevisionHistoryLimit = or(spec.RevisionHistoryLimit, 10)
	spec.ProgressDeadlineSeconds = or(spec.ProgressDeadlineSeconds, 600)
	orElse(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		rolling := or(spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		rolling.MaxUnavailable = or(rolling.MaxUnavailable, intstr.FromString("25%"))
		rolling.MaxSurge = or(rolling.MaxSurge, intstr.FromString("25%"))
		spec.Strategy.RollingUpdate = rolling
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultReplicaSet(obj runtime.Object) {
	spec := &obj.(*appsv1.ReplicaSet).Spec
	spec.Replicas = or(spec.Replicas, 1)
	defaultPodSpec(&spec.Template.Spec)
}

func defaultController(obj runtime.Object) {
	rc := obj.(*corev1.ReplicationController)
	rc.Spec.Replicas = or(rc.Spec.Replicas, 1)
	if rc.Spec.Template == nil {
		return
	}
	defaultPodSpec(&rc.Spec.Template.Spec)
	for _, labels := range []*map[string]string{&rc.Spec.Selector, &rc.Labels} {
		if len(*labels) == 0 && rc.Spec.Template.Labels != nil {
			*labels = copyMap(rc.Spec.Template.Labels)
		}
	}
}

func defaultStatefulSet(obj runtime.Object) {
	spec := &obj.(*appsv1.StatefulSet).Spec
	spec.Replicas = or(spec.Replicas, 1)
	spec.RevisionHistoryLimit = or(spec.RevisionHistoryLimit, 10)
	orElse(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		spec.UpdateStrategy.RollingUpdate = or(spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		rolling.Partition = or(rolling.Partition, 0)
	}
	retention := or(spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	orElse(&retention.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	orElse(&retention.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	spec.PersistentVolumeClaimRetentionPolicy = retention
	defaultPodSpec(&spec.Template.Spec)
}

func defaultDaemonSet(obj runtime.Object) {
	spec := &obj.(*appsv1.DaemonSet).Spec
	spec.RevisionHistoryLimit = or(spec.RevisionHistoryLimit, 10)
	orElse(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		rolling := or(spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		rolling.MaxUnavailable = or(rolling.MaxUnavailable, intstr.FromInt32(1))
		rolling.MaxSurge = or(rolling.MaxSurge, intstr.FromInt32(0))
		spec.UpdateStrategy.RollingUpdate = rolling
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultJob(obj runtime.Object) {
	job := obj.(*batchv1.Job)
	spec := &job.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = or(spec.Completions, 1)
	}
	spec.Parallelism = or(spec.Parallelism, 1)
	spec.BackoffLimit = or(spec.BackoffLimit, 6)
	spec.CompletionMode = or(spec.CompletionMode, batchv1.NonIndexedCompletion)
	spec.Suspend = or(spec.Suspend, false)
	spec.ManualSelector = or(spec.ManualSelector, false)
	replacement := batchv1.TerminatingOrFailed
	if spec.PodFailurePolicy != nil {
		replacement = batchv1.Failed
	}
	spec.PodReplacementPolicy = or(spec.PodReplacementPolicy, replacement)
	if len(job.Labels) == 0 && spec.Template.Labels != nil {
		job.Labels = copyMap(spec.Template.Labels)
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultCronJob(obj runtime.Object) {
	spec := &obj.(*batchv1.CronJob).Spec
	orElse(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	spec.Suspend = or(spec.Suspend, false)
	spec.SuccessfulJobsHistoryLimit = or(spec.SuccessfulJobsHistoryLimit, 3)
	spec.FailedJobsHistoryLimit = or(spec.FailedJobsHistoryLimit, 1)
	defaultPodSpec(&spec.JobTemplate.Spec.Template.Spec)
}

func defaultService(obj runtime.Object) {
	spec := &obj.(*corev1.Service).Spec
	orElse(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	orElse(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		orElse(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if spec.Type != corev1.ServiceTypeExternalName {
		spec.InternalTrafficPolicy = or(spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
}

func defaultEndpoints(obj runtime.Object) {
	subsets := obj.(*corev1.Endpoints).Subsets //nolint:staticcheck // still what controllers write
	for i := range subsets {
		for j := range subsets[i].Ports {
			orElse(&subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

func defaultEndpointSlice(obj runtime.Object) {
	ports := obj.(*discoveryv1.EndpointSlice).Ports
	for i := range ports {
		ports[i].Name = or(ports[i].Name, "")
		ports[i].Protocol = or(ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func defaultSecret(obj runtime.Object) {
	secret := obj.(*corev1.Secret)
	orElse(&secret.Type, corev1.SecretTypeOpaque)
	// stringData is a way of writing data; it is never read back.
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

func defaultNamespace(obj runtime.Object) {
	ns := obj.(*corev1.Namespace)
	if ns.Name != "" {
		if ns.Labels == nil {
			ns.Labels = map[string]string{}
		}
		ns.Labels[corev1.LabelMetadataName] = ns.Name
	}
	orElse(&ns.Status.Phase, corev1.NamespaceActive)
}

func defaultNode(obj runtime.Object) {
	status := &obj.(*corev1.Node).Status
	if status.Allocatable == nil && status.Capacity != nil {
		status.Allocatable = status.Capacity.DeepCopy()
	}
}

func defaultVolume(obj runtime.Object) {
	volume := obj.(*corev1.PersistentVolume)
	orElse(&volume.Status.Phase, corev1.VolumePending)
	orElse(&volume.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	volume.Spec.VolumeMode = or(volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
}

func defaultClaim(obj runtime.Object) {
	claim := obj.(*corev1.PersistentVolumeClaim)
	orElse(&claim.Status.Phase, corev1.ClaimPending)
	claim.Spec.VolumeMode = or(claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
}

func defaultRoleBinding(obj runtime.Object) {
	switch binding := obj.(type) {
	case *rbacv1.RoleBinding:
		defaultRoleRef(&binding.RoleRef, binding.Subjects)
	case *rbacv1.ClusterRoleBinding:
		defaultRoleRef(&binding.RoleRef, binding.Subjects)
	}
}

func defaultRoleRef(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	orElse(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subjects[i].Kind == rbacv1.UserKind || subjects[i].Kind == rbacv1.GroupKind {
			orElse(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

func copyMap(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for key, value := range in {
		out[key] = value
	}
	return out
}
