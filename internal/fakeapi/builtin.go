package fakeapi

import (
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// builtin is one row of the table of kinds that every server has.
type builtin struct {
	Kind
	rules
}

const notSupported = "field label not supported: %s"

// builtins is the table. What is not said is the zero value of rules: a
// generation that counts changes, DNS subdomain names, no special deletion.
func builtins() []builtin {
	var all []builtin
	all = append(all, coreKinds()...)
	all = append(all, appsKinds()...)
	all = append(all, otherKinds()...)
	return all
}

// builtinResources are the kinds of the table, registered. Servers share them,
// because a test may start hundreds of servers.
var builtinResources = sync.OnceValue(func() []*resource {
	var out []*resource
	for _, b := range builtins() {
		if !isBuiltin(b.gvk()) {
			continue // a program for a page links fewer groups of the API
		}
		res, err := newResource(b.Kind, b.rules)
		if err != nil {
			panic("fakeapi: " + err.Error())
		}
		res.shared = true
		out = append(out, res)
	}
	return out
})

func coreKinds() []builtin {
	kind := func(name, resource string, short ...string) Kind {
		return Kind{Version: "v1", Kind: name, Resource: resource, ShortNames: short}
	}
	split := func(k Kind) Kind { k.Status = true; return k }
	cluster := func(k Kind) Kind { k.ClusterScoped = true; return k }
	inAll := func(k Kind) Kind { k.Categories = []string{"all"}; return k }
	controller := split(inAll(kind("ReplicationController", "replicationcontrollers", "rc")))
	controller.Scale = &Scale{SpecReplicas: ".spec.replicas", StatusReplicas: ".status.replicas"}
	event := rules{noGeneration: true, ignoresPropagation: true, createOnPut: true,
		fields: eventFields, knownFields: eventFieldNames, badField: notSupported}
	return []builtin{
		{split(cluster(kind("Namespace", "namespaces", "ns"))), rules{noGeneration: true, name: apivalidation.ValidateNamespaceName,
			defaults: defaultNamespace, creating: creatingNamespace, updating: updatingNamespace, noDeleteCollection: true, returnsDeleted: true,
			fields: namespaceFields, knownFields: []string{"metadata.name", "status.phase"}, badField: notSupported}},
		{split(cluster(kind("Node", "nodes", "no"))), rules{noGeneration: true, defaults: defaultNode, creating: keepsStatus,
			fields: nodeFields, knownFields: []string{"metadata.name", "spec.unschedulable"}, badField: notSupported}},
		{split(inAll(kind("Pod", "pods", "po"))), rules{defaults: defaultPod, creating: creatingPod, updatingStatus: updatingPodStatus,
			validate: validatePod, grace: podGrace, returnsDeleted: true,
			fields: podFields, knownFields: podFieldNames, badField: notSupported}},
		{controller, rules{defaults: defaultController, validate: validateController, orphans: true}},
		{kind("ConfigMap", "configmaps", "cm"), rules{noGeneration: true, validate: validateConfigMap}},
		{kind("Secret", "secrets"), rules{noGeneration: true, defaults: defaultSecret, validate: validateSecret,
			fields: secretFields, knownFields: []string{"type", "metadata.namespace", "metadata.name"}, badField: notSupported}},
		{split(inAll(kind("Service", "services", "svc"))), rules{noGeneration: true, name: apivalidation.NameIsDNSLabel,
			defaults: defaultService, validate: validateService, createOnPut: true, returnsDeleted: true,
			fields: serviceFields, knownFields: []string{"metadata.namespace", "metadata.name", "spec.clusterIP", "spec.type"}, badField: notSupported}},
		{kind("Endpoints", "endpoints", "ep"), rules{noGeneration: true, defaults: defaultEndpoints, createOnPut: true,
			warning: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}},
		{kind("ServiceAccount", "serviceaccounts", "sa"), rules{noGeneration: true, returnsDeleted: true}},
		{kind("Event", "events", "ev"), event},
		{split(cluster(kind("PersistentVolume", "persistentvolumes", "pv"))), rules{noGeneration: true, defaults: defaultVolume, returnsDeleted: true}},
		{split(kind("PersistentVolumeClaim", "persistentvolumeclaims", "pvc")), rules{noGeneration: true, defaults: defaultClaim, returnsDeleted: true}},
		{split(kind("ResourceQuota", "resourcequotas", "quota")), rules{noGeneration: true, returnsDeleted: true}},
		{kind("LimitRange", "limitranges", "limits"), rules{noGeneration: true, createOnPut: true}},
	}
}

func appsKinds() []builtin {
	kind := func(group, name, resource string, short ...string) Kind {
		return Kind{Group: group, Version: "v1", Kind: name, Resource: resource, ShortNames: short, Status: true, Categories: []string{"all"}}
	}
	scaled := func(k Kind) Kind {
		k.Scale = &Scale{SpecReplicas: ".spec.replicas", StatusReplicas: ".status.replicas", LabelSelector: ".spec.selector"}
		return k
	}
	revision := kind("apps", "ControllerRevision", "controllerrevisions")
	revision.Status, revision.Categories = false, nil
	return []builtin{
		{scaled(kind("apps", "Deployment", "deployments", "deploy")), rules{defaults: defaultDeployment, validate: validateWorkload,
			statusKeepsLabels: true, countsAnnotations: true}},
		{scaled(kind("apps", "ReplicaSet", "replicasets", "rs")), rules{defaults: defaultReplicaSet, validate: validateWorkload}},
		{scaled(kind("apps", "StatefulSet", "statefulsets", "sts")), rules{defaults: defaultStatefulSet, validate: validateStatefulSet}},
		{kind("apps", "DaemonSet", "daemonsets", "ds"), rules{defaults: defaultDaemonSet, validate: validateWorkload}},
		{revision, rules{noGeneration: true}},
		{kind("batch", "Job", "jobs"), rules{defaults: defaultJob, creating: creatingJob, validate: validateJob, orphans: true,
			fields: jobFields, knownFields: []string{"metadata.name", "metadata.namespace", "status.successful"}, badField: "field label %q not supported for Job"}},
		{kind("batch", "CronJob", "cronjobs", "cj"), rules{defaults: defaultCronJob}},
	}
}

func otherKinds() []builtin {
	kind := func(group, name, resource string, short ...string) Kind {
		return Kind{Group: group, Version: "v1", Kind: name, Resource: resource, ShortNames: short}
	}
	split := func(k Kind) Kind { k.Status = true; return k }
	cluster := func(k Kind) Kind { k.ClusterScoped = true; return k }
	const rbac = "rbac.authorization.k8s.io"
	role := rules{noGeneration: true, name: rbacName, createOnPut: true, validate: validateRole}
	binding := rules{noGeneration: true, name: rbacName, createOnPut: true, defaults: defaultRoleBinding,
		validate: validateBinding}
	return []builtin{
		{kind("discovery.k8s.io", "EndpointSlice", "endpointslices"), rules{defaults: defaultEndpointSlice, countsLabels: true}},
		{kind("coordination.k8s.io", "Lease", "leases"), rules{noGeneration: true, needsVersion: true, createOnPut: true}},
		{kind("events.k8s.io", "Event", "events", "ev"), rules{noGeneration: true, ignoresPropagation: true, createOnPut: true}},
		{kind(rbac, "Role", "roles"), role},
		{cluster(kind(rbac, "ClusterRole", "clusterroles")), role},
		{kind(rbac, "RoleBinding", "rolebindings"), binding},
		{cluster(kind(rbac, "ClusterRoleBinding", "clusterrolebindings")), binding},
		{split(kind("policy", "PodDisruptionBudget", "poddisruptionbudgets", "pdb")), rules{needsVersion: true}},
		{split(kind("networking.k8s.io", "Ingress", "ingresses", "ing")), rules{}},
		{kind("networking.k8s.io", "NetworkPolicy", "networkpolicies", "netpol"), rules{}},
		{cluster(kind("storage.k8s.io", "StorageClass", "storageclasses", "sc")), rules{noGeneration: true, returnsDeleted: true}},
		{cluster(kind("scheduling.k8s.io", "PriorityClass", "priorityclasses", "pc")), rules{}},
		{cluster(kind("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations")), rules{needsVersion: true}},
		{cluster(kind("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations")), rules{needsVersion: true}},
	}
}

// keepsStatus lets a new object bring its status along: nodes register
// themselves with theirs.
func keepsStatus(runtime.Object) {}

// rbacName allows anything that fits into a URL: role names are made up of
// other names, with colons between them.
func rbacName(name string, _ bool) []string {
	if name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return []string{`may not be '.', '..' or contain '/' or '%'`}
	}
	return nil
}

func nodeFields(obj runtime.Object) fields.Set {
	return fields.Set{"spec.unschedulable": fmt.Sprint(obj.(*corev1.Node).Spec.Unschedulable)}
}

func namespaceFields(obj runtime.Object) fields.Set {
	return fields.Set{"status.phase": string(obj.(*corev1.Namespace).Status.Phase)}
}

func secretFields(obj runtime.Object) fields.Set {
	return fields.Set{"type": string(obj.(*corev1.Secret).Type)}
}

func serviceFields(obj runtime.Object) fields.Set {
	spec := obj.(*corev1.Service).Spec
	return fields.Set{"spec.clusterIP": spec.ClusterIP, "spec.type": string(spec.Type)}
}

var eventFieldNames = []string{
	"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
	"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
	"metadata.namespace", "metadata.name",
}

func eventFields(obj runtime.Object) fields.Set {
	event := obj.(*corev1.Event)
	ref := event.InvolvedObject
	return fields.Set{
		"involvedObject.kind": ref.Kind, "involvedObject.namespace": ref.Namespace, "involvedObject.name": ref.Name,
		"involvedObject.uid": string(ref.UID), "involvedObject.apiVersion": ref.APIVersion,
		"involvedObject.resourceVersion": ref.ResourceVersion, "involvedObject.fieldPath": ref.FieldPath,
		"reason": event.Reason, "reportingComponent": event.ReportingController, "source": event.Source.Component, "type": event.Type,
	}
}

// sameLabels and sameAnnotations are for the kinds whose generation counts them.
func sameLabels(a, b runtime.Object) bool {
	return equality.Semantic.DeepEqual(metaOf(a).GetLabels(), metaOf(b).GetLabels())
}

func sameAnnotations(a, b runtime.Object) bool {
	return equality.Semantic.DeepEqual(metaOf(a).GetAnnotations(), metaOf(b).GetAnnotations())
}
