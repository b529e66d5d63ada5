package mini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/trace"
)

// remains is what a pass over a namespace has left in it.
type remains struct {
	objects    map[string]int // how many of each resource
	finalizers map[string]int // how many objects wait for each
	unknown    error          // resources that the API server could not name
	failed     []error
}

// add counts an object that is still there.
func (r *remains) add(name string, obj metav1.PartialObjectMetadata) {
	r.objects[name]++
	for _, finalizer := range obj.Finalizers {
		r.finalizers[finalizer]++
	}
}

// err is nil if nothing has failed. Without an error and without objects, the namespace
// is empty.
func (r *remains) err() error { return errors.Join(append(r.failed, r.unknown)...) }

// conditions returns those that there were, with what is left. Each of ours is true if it
// is bad news; conditions of other types stay.
func (r *remains) conditions(
	was []corev1.NamespaceCondition, now metav1.Time,
) []corev1.NamespaceCondition {
	all := slices.Clone(was)
	say := func(
		kind corev1.NamespaceConditionType, fine, bad, prefix string, news []string,
	) {
		c := corev1.NamespaceCondition{
			Type: kind, Status: corev1.ConditionFalse, Reason: fine,
			LastTransitionTime: now,
		}
		if len(news) > 0 {
			c.Status, c.Reason = corev1.ConditionTrue, bad
			c.Message = prefix + strings.Join(news, ", ")
		}
		at := slices.IndexFunc(all, func(old corev1.NamespaceCondition) bool {
			return old.Type == kind
		})
		if at < 0 {
			all = append(all, c)
			return
		}
		if all[at].Status == c.Status {
			c.LastTransitionTime = all[at].LastTransitionTime
		}
		all[at] = c
	}
	say(corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered",
		"DiscoveryFailed", "not every resource is known: ", messages(r.unknown))
	say(corev1.NamespaceDeletionContentFailure, "ContentDeleted", "ContentDeletionFailed",
		"not everything could be deleted: ", messages(r.failed...))
	say(corev1.NamespaceContentRemaining, "ContentRemoved", "SomeResourcesRemain",
		"still there: ", counted(r.objects))
	say(corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers",
		"SomeFinalizersRemain", "objects wait for finalizers: ", counted(r.finalizers))
	return all
}

// counted lists names with their numbers, always in the same order: a status that differs
// by its order alone would be written again and again.
func counted(numbers map[string]int) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		all = append(all, fmt.Sprintf("%d of %s", numbers[name], name))
	}
	return all
}

func messages(errs ...error) (all []string) {
	for _, err := range errs {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	slices.Sort(all)
	return all
}

// resource is a path of the API server below which there are objects of a namespace.
type resource struct {
	name  string // pods, deployments.apps
	path  []string
	kind  string
	verbs metav1.Verbs
}

// podsFirst returns the resources whose objects can be deleted, in two steps. Other
// objects have to outlive the Pods: a NetworkPolicy or a Secret protects a Pod, or serves
// it, until the Pod has ended.
func podsFirst(lists []*metav1.APIResourceList, namespace string) (steps [2][]resource) {
	for _, list := range lists {
		group, _, found := strings.Cut(list.GroupVersion, "/")
		root, suffix := "/apis", "."+group
		if !found {
			root, suffix = "/api", "" // the group of Pods and Services has no name
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "delete") || !slices.Contains(r.Verbs, "list") {
				continue // access reviews, metrics of Pods: nothing is stored
			}
			step, name := &steps[1], r.Name+suffix
			if name == "pods" {
				step = &steps[0]
			}
			path := []string{root, list.GroupVersion, "namespaces", namespace, r.Name}
			*step = append(*step, resource{name, path, r.Kind, r.Verbs})
		}
	}
	return steps
}

// Namespaces is the namespace controller: it empties namespaces that are being deleted.
//
// Guarantees: it removes the finalizer "kubernetes" only after a pass over all resources
// in a complete answer of discovery has found nothing. Neither a 404 nor {} is ever
// such an answer, or an empty list. What it has not done, and why, is in the conditions.
//
// Caveats: a resource that is added to the API server during the last pass is missed. If
// discovery leaves out one that it had before, without an error, the controller waits for
// it until forgetAfter; one that this process has never seen, it cannot miss.
type Namespaces struct {
	client   *CachedClient
	discover *discovery.DiscoveryClient

	mu    sync.Mutex           // guards since
	since map[string]time.Time // when discovery began to lack a resource; zero: it has it
}

// NewNamespaceController returns the controller with its watch. Add it to m.
func NewNamespaceController(m *Manager) (*Controller, error) {
	config := rest.CopyConfig(m.Cluster.config)
	config.QPS = -1                           // no limit: a pass asks for each resource
	config.WarningHandler = rest.NoWarnings{} // each list of an old kind would print one
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers{next} })
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	n := &Namespaces{client: m.Client, discover: discover, since: map[string]time.Time{}}
	c := m.NewController("namespace", 5, n)
	c.Watch(m.Informer(&corev1.Namespace{}), EnqueueObject, func(change Change) bool {
		// The next pass has its time. Our own conditions would bring it at once.
		return isWhole(change) || change.Old.GetDeletionTimestamp() == nil
	})
	return c, m.err
}

// answers makes errors of answers that aren't the API server's. This controller only gets
// discovery and lists, which are never "not found": a proxy says that, or the path isn't
// served any more. And what succeeds has a kind: for client-go, {} is a cluster without
// resources, and a login page is a deletion that went well.
type answers struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if response.StatusCode == http.StatusNotFound && r.Method == http.MethodGet {
		return nil, fmt.Errorf("a 404 is no answer to this: %.80q", body)
	}
	var is metav1.TypeMeta
	_ = json.Unmarshal(body, &is) // what isn't JSON has no kind, either
	if response.StatusCode < 300 && is.Kind == "" {
		return nil, fmt.Errorf("an answer without a kind is nobody's: %.80q", body)
	}
	return response, nil
}

// recheck is the time between two passes: nothing watches all kinds, and an object may
// take seconds to end, or weeks.
const recheck = 8 * time.Second

// admissionLag is how long the deletion of a namespace takes to be known to all API
// servers. Until then, one of them may still let an object in, after the pass.
const admissionLag = 5 * time.Second

// Reconcile makes one pass over a namespace that is being deleted, and lets it go if it
// is empty.
func (n *Namespaces) Reconcile(ctx context.Context, req Request) (Result, error) {
	ns, err := Get[*corev1.Namespace](ctx, n.client, req)
	mine := func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes }
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if ns.DeletionTimestamp == nil || !slices.ContainsFunc(ns.Spec.Finalizers, mine) {
		return Result{}, nil
	}
	if wait := time.Until(ns.DeletionTimestamp.Add(admissionLag)); wait > 0 {
		return Result{RequeueAfter: wait}, nil
	}
	left := n.deleteContent(ctx, ns.Name)
	conditions := left.conditions(ns.Status.Conditions, metav1.Now())
	if !equality.Semantic.DeepEqual(conditions, ns.Status.Conditions) {
		ns.Status.Conditions = conditions
		if err := n.client.UpdateStatus(ctx, ns); err != nil {
			return Result{}, IgnoreNotFound(err)
		}
	}
	if err := left.err(); err != nil {
		return Result{}, fmt.Errorf("emptying namespace %s: %w", ns.Name, err)
	}
	if len(left.objects) > 0 {
		return Result{RequeueAfter: recheck}, nil
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, mine)
	finalize, _ := n.client.request("PUT", ns, req) // the cache knows its kind
	// An update leaves the finalizers of the spec alone: they have a subresource.
	finalize = finalize.SubResource("finalize").Body(ns)
	err = n.client.send(ctx, "finalize", req, finalize, ns)
	return Result{}, IgnoreNotFound(err)
}

// deleteContent deletes what is in the namespace, kind by kind. A failure does not stop
// it: the rest goes all the same.
func (n *Namespaces) deleteContent(ctx context.Context, namespace string) *remains {
	left := &remains{objects: map[string]int{}, finalizers: map[string]int{}}
	// With an error there may be lists: those of the groups that have answered.
	lists, err := n.discover.ServerPreferredNamespacedResourcesWithContext(ctx)
	steps := podsFirst(lists, namespace)
	if err == nil {
		err = n.missing(slices.Concat(steps[0], steps[1]))
	}
	left.unknown = err
	for _, step := range steps {
		for _, r := range step {
			if err := n.deleteAll(ctx, r, left); err != nil {
				left.failed = append(left.failed, fmt.Errorf("%s: %w", r.name, err))
			}
		}
		unknown := len(step) == 0 && left.unknown != nil
		if unknown || len(left.objects) > 0 || len(left.failed) > 0 {
			break // there are Pods, or there may be some
		}
	}
	return left
}

// forgetAfter is how long discovery must lack a resource that it had, in each answer,
// before we believe that the resource is gone, and all of its objects with it.
const forgetAfter = 30 * time.Second

// missing returns an error for each resource that discovery had, and lacks now. An API
// server that has just started may not serve all of its CustomResourceDefinitions yet.
func (n *Namespaces) missing(served []resource) (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lacks := maps.Clone(n.since)
	for _, r := range served {
		n.since[r.name] = time.Time{}
		delete(lacks, r.name)
	}
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		switch since := lacks[name]; {
		case since.IsZero():
			n.since[name] = time.Now()
		case time.Since(since) >= forgetAfter:
			delete(n.since, name)
			continue
		}
		err = errors.Join(err, fmt.Errorf("discovery had %s, and lacks it now", name))
	}
	return err
}

// deleteAll deletes the objects of one resource, and counts those that are still there.
func (n *Namespaces) deleteAll(ctx context.Context, r resource, left *remains) error {
	objs, err := n.list(ctx, r)
	todo := slices.Clone(objs)
	todo = slices.DeleteFunc(todo, func(obj metav1.PartialObjectMetadata) bool {
		return obj.DeletionTimestamp != nil
	})
	switch {
	case len(todo) == 0: // most resources have nothing in most namespaces
	case slices.Contains(r.verbs, "deletecollection"):
		err = n.delete(ctx, r, "", len(todo))
	default:
		for _, obj := range todo {
			err = errors.Join(err, IgnoreNotFound(n.delete(ctx, r, obj.Name, 1)))
		}
	}
	if err == nil && len(todo) > 0 {
		objs, err = n.list(ctx, r)
	}
	for _, obj := range objs {
		left.add(r.name, obj)
	}
	return err
}

// list returns the metadata of all objects of a resource: their kinds may have no Go
// type. It asks the API server, and not a cache: what a late cache does not show would
// outlive its namespace.
func (n *Namespaces) list(
	ctx context.Context, r resource,
) ([]metav1.PartialObjectMetadata, error) {
	const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
		"application/json"
	result := n.discover.RESTClient().Get().AbsPath(r.path...).
		SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil { // Raw would not read the text of the error
		return nil, err
	}
	body, _ := result.Raw()
	var list metav1.PartialObjectMetadataList
	err := json.Unmarshal(body, &list)
	if err == nil && !strings.HasSuffix(list.Kind, "List") {
		err = fmt.Errorf("want a list, got %.80q", body) // a login page, and not "empty"
	}
	return list.Items, err
}

// delete deletes the object of this name, or, if the name is empty, all of the resource,
// which are count. It names the policy: some kinds orphan by default, and an orphan waits
// for the garbage collector.
func (n *Namespaces) delete(
	ctx context.Context, r resource, name string, count int,
) error {
	began, background := time.Now(), metav1.DeletePropagationBackground
	body, _ := json.Marshal(&metav1.DeleteOptions{PropagationPolicy: &background})
	path := r.path
	if name != "" {
		path = slices.Concat(path, []string{name})
	}
	err := n.discover.RESTClient().Delete().AbsPath(path...).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	err = check404(err, Request{Namespace: r.path[3], Name: name})
	e := trace.Event{
		Layer: "client", Kind: trace.Write, Op: "delete", Object: r.kind,
		Namespace: r.path[3], Name: name, Count: count,
		Took: time.Since(began),
	}
	if err != nil {
		e.Outcome, e.Reason = trace.Failed, err.Error()
	}
	n.client.Cluster.Trace.RecordBy(ctx, e)
	return err
}
