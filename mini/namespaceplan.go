package mini

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// remains is what a pass over a namespace has left in it.
type remains struct {
	objects    map[string]int // how many of each resource
	finalizers map[string]int // how many objects wait for each
	unknown    error          // resources that the API server couldn't name
	failed     []error
}

// add counts an object that still exists.
func (r *remains) add(name string, obj metav1.PartialObjectMetadata) {
	r.objects[name]++
	for _, finalizer := range obj.Finalizers {
		r.finalizers[finalizer]++
	}
}

// err is nil if nothing has failed. Without an error and without objects, the namespace
// is empty.
func (r *remains) err() error { return errors.Join(append(r.failed, r.unknown)...) }

// endsAfter returns true if the pass must end after this step, because some of the step's
// objects are left, or may be. The objects of the next step have to outlive them.
func (r *remains) endsAfter(step []resource) bool {
	unknown := len(step) == 0 && r.unknown != nil // discovery didn't name the Pods
	return unknown || len(r.objects) > 0 || len(r.failed) > 0
}

// conditions returns the old conditions, updated with what's left. Ours are true if
// they're bad news; conditions of other types stay.
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

// counted lists names with their numbers, always in the same order. If only the order of
// a status changed, it would be written again and again.
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

// resource is a path of the API server with objects of a namespace below it.
type resource struct {
	name  string // pods, deployments.apps
	path  []string
	kind  string
	verbs metav1.Verbs
}

// podsFirst returns the resources whose objects can be listed and deleted, in two steps:
// Pods, then the rest. Other objects have to outlive the Pods: a NetworkPolicy protects a
// Pod until it has ended, and a Secret serves it.
func podsFirst(lists []*metav1.APIResourceList, namespace string) (steps [2][]resource) {
	for _, list := range lists {
		group, _, found := strings.Cut(list.GroupVersion, "/")
		root, suffix := "/apis", "."+group
		if !found {
			root, suffix = "/api", "" // the group of Pods and Services has no name
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "delete") || !slices.Contains(r.Verbs, "list") {
				continue // access reviews, metrics: the server stores nothing
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

// forgetAfter is how long discovery must lack a resource that it had, in each answer,
// until we believe that the resource and all its objects no longer exist.
const forgetAfter = 30 * time.Second

// missing returns an error for each resource that discovery had, and lacks now: an API
// server that has just started may not serve all of its CustomResourceDefinitions yet.
// For each resource, since has the time at which discovery began to lack it, or zero if
// discovery has it. After forgetAfter, missing forgets the resource.
func missing(since map[string]time.Time, served []resource, now time.Time) (err error) {
	lacks := maps.Clone(since)
	for _, r := range served {
		since[r.name] = time.Time{}
		delete(lacks, r.name)
	}
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		switch began := lacks[name]; {
		case began.IsZero():
			since[name] = now
		case now.Sub(began) >= forgetAfter:
			delete(since, name)
			continue
		}
		err = errors.Join(err, fmt.Errorf("discovery had %s, and lacks it now", name))
	}
	return err
}
