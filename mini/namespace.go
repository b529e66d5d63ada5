package mini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Namespaces is the namespace controller, which empties namespaces that are being
// deleted.
//
// Guarantees: it removes the finalizer "kubernetes" only after discovery has given a
// complete answer, and a pass over all its resources has found nothing. It never takes a
// 404 or {} for a complete discovery, or for an empty list. The conditions say what's
// left to do, and why.
//
// Caveats: it misses a resource that's added to the API server during the last pass. If
// discovery leaves out one that it had before, without an error, the controller waits for
// it until forgetAfter. It can't wait for one that this process has never seen.
type Namespaces struct {
	client   *CachedClient
	discover *discovery.DiscoveryClient

	mu    sync.Mutex           // guards since
	since map[string]time.Time // when discovery began to lack a resource; zero: it has it
}

// NewNamespaceController returns the controller with its watch. Add it to m.
func NewNamespaceController(m *Manager) (*Controller, error) {
	config := rest.CopyConfig(m.Cluster.config)
	config.QPS = -1                           // no limit: a pass lists each resource
	config.WarningHandler = rest.NoWarnings{} // each list of an old kind would print one
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers{next} })
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	n := &Namespaces{client: m.Client, discover: discover, since: map[string]time.Time{}}
	c := m.NewController("namespace", 5, n)
	c.Watch(m.Informer(&corev1.Namespace{}), EnqueueObject, func(change Change) bool {
		// The next pass has its time. Our own conditions would trigger it at once.
		return isWhole(change) || change.Old.GetDeletionTimestamp() == nil
	})
	return c, m.err
}

// answers turns answers that aren't the API server's into errors. This controller only
// reads discovery and lists, which are never "not found": if they are, a proxy has
// answered, or the path is no longer served. And a successful answer has a kind, or
// client-go would take {} for a cluster without resources, and a login page for a
// successful deletion.
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
		return nil, fmt.Errorf("a 404 can't be the API server's answer: %.80q", body)
	}
	var is metav1.TypeMeta
	_ = json.Unmarshal(body, &is) // if it isn't JSON, it has no kind either
	if response.StatusCode < 300 && is.Kind == "" {
		return nil, fmt.Errorf("no kind, so not the API server's answer: %.80q", body)
	}
	return response, nil
}

// recheck is the time between two passes. No watch covers all kinds, and an object may
// take seconds to end, or weeks.
const recheck = 8 * time.Second

// admissionLag is how long it takes until all API servers know that a namespace is being
// deleted. Until then, one of them may still admit an object, even after the pass.
const admissionLag = 5 * time.Second

// Reconcile makes one pass over a namespace that's being deleted, and lets the namespace
// go if it's empty.
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
	// An update leaves the spec's finalizers alone: they have a subresource.
	finalize = finalize.SubResource("finalize").Body(ns)
	err = n.client.send(ctx, "finalize", req, finalize, ns)
	return Result{}, IgnoreNotFound(err)
}

// deleteContent deletes everything in the namespace, kind by kind. If one kind fails, it
// goes on with the rest.
func (n *Namespaces) deleteContent(ctx context.Context, namespace string) *remains {
	left := &remains{objects: map[string]int{}, finalizers: map[string]int{}}
	// Even with an error there may be lists, from the groups that have answered.
	lists, err := n.discover.ServerPreferredNamespacedResourcesWithContext(ctx)
	steps := podsFirst(lists, namespace)
	if err == nil {
		n.mu.Lock()
		err = missing(n.since, slices.Concat(steps[0], steps[1]), time.Now())
		n.mu.Unlock()
	}
	left.unknown = err
	for _, step := range steps {
		for _, r := range step {
			if err := n.deleteAll(ctx, r, left); err != nil {
				left.failed = append(left.failed, fmt.Errorf("%s: %w", r.name, err))
			}
		}
		if left.endsAfter(step) {
			break
		}
	}
	return left
}

// deleteAll deletes the objects of one resource, and counts those that still exist.
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

// list returns the metadata of all objects of a resource: only the metadata, because
// their kinds may have no Go type. It asks the API server, because an object that a late
// cache doesn't have would outlive its namespace.
func (n *Namespaces) list(
	ctx context.Context, r resource,
) ([]metav1.PartialObjectMetadata, error) {
	const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
		"application/json"
	result := n.discover.RESTClient().Get().AbsPath(r.path...).
		SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil { // Raw wouldn't read the text of the error
		return nil, err
	}
	body, _ := result.Raw()
	var list metav1.PartialObjectMetadataList
	err := json.Unmarshal(body, &list)
	if err == nil && !strings.HasSuffix(list.Kind, "List") {
		err = fmt.Errorf("want a list, got %.80q", body) // a login page isn't "empty"
	}
	return list.Items, err
}

// delete deletes the object of this name, or all count objects of the resource if the
// name is empty. It sets the policy, because some kinds orphan their dependents by
// default, and then the object has to wait for the garbage collector.
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
