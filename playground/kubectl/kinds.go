package kubectl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a row of the table of kinds that the prompt knows.
type kind struct {
	group, version, name string
	plural               string
	short                []string
	cluster              bool // its objects are in no namespace

	columns string // with | between them
	wide    string // those that -o wide adds
	cells   func(*unstructured.Unstructured) ([]string, error)
}

// headers are the names of the columns, with or without those of -o wide.
func (k *kind) headers(wide bool) []string {
	all := strings.Split(k.columns, "|")
	if wide && k.wide != "" {
		all = append(all, strings.Split(k.wide, "|")...)
	}
	return all
}

func (k *kind) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.group, Version: k.version, Resource: k.plural}
}

// full is how kubectl names the kind in "deployment.apps/web created".
func (k *kind) full() string {
	if k.group == "" {
		return strings.ToLower(k.name)
	}
	return strings.ToLower(k.name) + "." + k.group
}

// resources is how errors name the kind: deployments.apps.
func (k *kind) resources() string { return k.resource().GroupResource().String() }

// kinds are in the order of kubectl get all, and then the others.
var kinds = []*kind{
	{
		version: "v1", name: "Pod", plural: "pods", short: []string{"po"},
		columns: "NAME|READY|STATUS|RESTARTS|AGE",
		wide:    "IP|NODE|NOMINATED NODE|READINESS GATES",
		cells:   podCells,
	},
	{
		version: "v1", name: "Service", plural: "services", short: []string{"svc"},
		columns: "NAME|TYPE|CLUSTER-IP|EXTERNAL-IP|PORT(S)|AGE",
		wide:    "SELECTOR",
		cells:   serviceCells,
	},
	{
		group: "apps", version: "v1", name: "DaemonSet", plural: "daemonsets", short: []string{"ds"},
		columns: "NAME|DESIRED|CURRENT|READY|UP-TO-DATE|AVAILABLE|NODE SELECTOR|AGE",
		wide:    "CONTAINERS|IMAGES|SELECTOR",
		cells:   daemonSetCells,
	},
	{
		group: "apps", version: "v1", name: "Deployment", plural: "deployments", short: []string{"deploy"},
		columns: "NAME|READY|UP-TO-DATE|AVAILABLE|AGE",
		wide:    "CONTAINERS|IMAGES|SELECTOR",
		cells:   deploymentCells,
	},
	{
		group: "apps", version: "v1", name: "ReplicaSet", plural: "replicasets", short: []string{"rs"},
		columns: "NAME|DESIRED|CURRENT|READY|AGE",
		wide:    "CONTAINERS|IMAGES|SELECTOR",
		cells:   replicaSetCells,
	},
	{
		group: "apps", version: "v1", name: "StatefulSet", plural: "statefulsets", short: []string{"sts"},
		columns: "NAME|READY|AGE",
		wide:    "CONTAINERS|IMAGES",
		cells:   statefulSetCells,
	},
	{
		group: "batch", version: "v1", name: "Job", plural: "jobs",
		columns: "NAME|STATUS|COMPLETIONS|DURATION|AGE",
		wide:    "CONTAINERS|IMAGES|SELECTOR",
		cells:   jobCells,
	},
	{
		group: "batch", version: "v1", name: "CronJob", plural: "cronjobs", short: []string{"cj"},
		columns: "NAME|SCHEDULE|TIMEZONE|SUSPEND|ACTIVE|LAST SCHEDULE|AGE",
		wide:    "CONTAINERS|IMAGES|SELECTOR",
		cells:   cronJobCells,
	},
	{
		version: "v1", name: "Endpoints", plural: "endpoints", short: []string{"ep"},
		columns: "NAME|ENDPOINTS|AGE",
		cells:   endpointsCells,
	},
	{
		version: "v1", name: "Node", plural: "nodes", short: []string{"no"}, cluster: true,
		columns: "NAME|STATUS|ROLES|AGE|VERSION",
		wide:    "INTERNAL-IP|EXTERNAL-IP|OS-IMAGE|KERNEL-VERSION|CONTAINER-RUNTIME",
		cells:   nodeCells,
	},
	{
		version: "v1", name: "Namespace", plural: "namespaces", short: []string{"ns"}, cluster: true,
		columns: "NAME|STATUS|AGE",
		cells:   namespaceCells,
	},
	{
		version: "v1", name: "ConfigMap", plural: "configmaps", short: []string{"cm"},
		columns: "NAME|DATA|AGE",
		cells:   configMapCells,
	},
	{
		version: "v1", name: "Secret", plural: "secrets",
		columns: "NAME|TYPE|DATA|AGE",
		cells:   secretCells,
	},
	{
		group: "coordination.k8s.io", version: "v1", name: "Lease", plural: "leases",
		columns: "NAME|HOLDER|AGE",
		cells:   leaseCells,
	},
	{
		group: "apps", version: "v1", name: "ControllerRevision", plural: "controllerrevisions",
		columns: "NAME|CONTROLLER|REVISION|AGE",
		cells:   revisionCells,
	},
}

// inAll is how many of kinds are in the category all.
const inAll = 8

// kindNames are all names by which users call a kind, or nil if none is called word.
func kindNames(word string) []string {
	word = strings.ToLower(word)
	for _, k := range kinds {
		names := append([]string{k.plural, strings.ToLower(k.name), k.resources(), k.full()}, k.short...)
		if slices.Contains(names, word) {
			return names
		}
	}
	return nil
}

func kindCalled(word string) (*kind, error) {
	names := kindNames(word)
	for _, k := range kinds {
		if len(names) > 0 && names[0] == k.plural {
			return k, nil
		}
	}
	return nil, fmt.Errorf("the server doesn't have a resource type %q", word)
}

// target is what a line names: one object, or with an empty name all of a kind.
type target struct {
	kind *kind
	name string
}

// targets reads "pods", "pods,svc", "pod web api" and "pod/web svc/web".
func targets(words []string) (all []target, err error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported resources.\n\n" +
			"error: Required resource not specified.")
	}
	if strings.Contains(words[0], "/") {
		for _, word := range words {
			kind, name, found := strings.Cut(word, "/")
			if !found || name == "" {
				return nil, fmt.Errorf("there is no need to specify a resource type as a separate argument when passing arguments in resource/name form " +
					"(e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'")
			}
			k, err := kindCalled(kind)
			if err != nil {
				return nil, err
			}
			all = append(all, target{k, name})
		}
		return all, nil
	}
	var named []*kind
	for word := range strings.SplitSeq(words[0], ",") {
		if word == "all" {
			named = append(named, kinds[:inAll]...)
			continue
		}
		k, err := kindCalled(word)
		if err != nil {
			return nil, err
		}
		named = append(named, k)
	}
	for _, k := range named {
		for _, name := range words[1:] {
			all = append(all, target{k, name})
		}
		if len(words) == 1 {
			all = append(all, target{kind: k})
		}
	}
	return all, nil
}

// objects reads the objects that a line names, from the API server.
func (c *call) objects(ctx context.Context, t target) (objs []unstructured.Unstructured, version string, err error) {
	if t.name != "" {
		obj, err := c.on(t.kind).Get(ctx, t.name, metav1.GetOptions{})
		if err != nil {
			return nil, "", err
		}
		return []unstructured.Unstructured{*obj}, obj.GetResourceVersion(), nil
	}
	list, err := c.on(t.kind).List(ctx, metav1.ListOptions{LabelSelector: c.selector})
	if err != nil {
		return nil, "", err
	}
	return list.Items, list.GetResourceVersion(), nil
}

// one reads the only object that the line names, and leaves the words after it in c.args.
func (c *call) one(words int) (target, error) {
	if len(c.args) == 0 {
		return target{}, fmt.Errorf("one or more resources must be specified as <resource> <name> or <resource>/<name>")
	}
	if strings.Contains(c.args[0], "/") {
		words = 1
	}
	all, err := targets(c.args[:min(words, len(c.args))])
	if err != nil {
		return target{}, err
	}
	if all[0].name == "" {
		return target{}, fmt.Errorf("one or more resources must be specified as <resource> <name> or <resource>/<name>")
	}
	c.args = c.args[min(words, len(c.args)):]
	return all[0], nil
}

func apiResources(_ context.Context, c *call) error {
	t := &table{}
	rows := [][]string{{"NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"}}
	for _, k := range kinds {
		rows = append(rows, []string{k.plural, strings.Join(k.short, ","), k.resource().GroupVersion().String(),
			fmt.Sprint(!k.cluster), k.name})
	}
	return t.print(c.out, rows)
}
