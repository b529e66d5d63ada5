package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	sources "github.com/loopwright/loopwright/manager/source" // source is a type in this package
)

// This is the controller of TestWhateverBreaksTheChildrenAreRight, as its user writes it. A ConfigMap
// labelled mirrored=yes, with the data children: "a,b" and value: "1", has the Secrets name-a and
// name-b with this value. Of the Secrets that a ConfigMap controls there are no others.

const (
	mirroredLabel   = "mirrored"
	controllerField = "metadata.controller"
)

// mirrorOptions are what differs from seed to seed.
type mirrorOptions struct {
	cache      cache.Options
	controller controller.Options // without the reconciler
	consistent bool               // the client reads its own writes
	// around is what the test puts around the reconciler and its client, and behind the predicates.
	client     func(client.Client) client.Client
	reconciler func(reconcile.Reconciler) reconcile.Reconciler
	events     predicate.Predicate
}

// runMirror runs the controller until the context ends.
func runMirror(ctx context.Context, config *rest.Config, options mirrorOptions) error {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return err
	}
	options.cache.HTTPClient, options.cache.Mapper = httpClient, mapper
	objects, err := cache.New(config, options.cache)
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper, Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: &options.consistent}})
	if err != nil {
		return err
	}
	if err := objects.IndexField(ctx, &corev1.Secret{}, controllerField, nameOfController); err != nil {
		return err
	}
	options.controller.Reconciler = options.reconciler(mirror{options.client(c)})
	mirrors, err := controller.NewUnmanaged("mirror", options.controller)
	if err != nil {
		return err
	}
	changed := predicate.ResourceVersionChangedPredicate{} // no resync makes up for an event that was lost
	owners := handler.EnqueueRequestForOwner(scheme.Scheme, mapper, &corev1.ConfigMap{}, handler.OnlyControllerOwner())
	if err := errors.Join(
		mirrors.Watch(sources.Kind[client.Object](objects, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{}, predicate.And(changed, isOrWasMirrored), options.events)),
		mirrors.Watch(sources.Kind[client.Object](objects, &corev1.Secret{}, owners, changed, options.events)),
	); err != nil {
		return err
	}
	// The cache stops last: reconciles that are under way may still read.
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1) // from the cache, once
	go func() { ended <- objects.Start(reading) }()
	err = mirrors.Start(ctx)
	stop()
	return errors.Join(err, <-ended)
}

func nameOfController(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == "ConfigMap" {
		return []string{ref.Name}
	}
	return nil
}

func isMirrored(o client.Object) bool { return o.GetLabels()[mirroredLabel] == "yes" }

// isOrWasMirrored asks about the old object, too: who loses the label loses the children.
var isOrWasMirrored = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isMirrored(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return isMirrored(e.ObjectOld) || isMirrored(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return isMirrored(e.Object) },
}

// mirror looks again after each write. What it has written may be changed before the cache has seen
// it. If the cache then sees only the change, because it had to list in between, the event says
// nothing about us: a new Secret has another owner.
type mirror struct{ client.Client }

const lookAgain = time.Second

func (m mirror) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	// The children first: this read may wait for our last write, and the parent should be newer than that.
	var children corev1.SecretList
	if err := m.List(ctx, &children, client.InNamespace(request.Namespace), client.MatchingFields{controllerField: request.Name}); err != nil {
		return reconcile.Result{}, err
	}
	parent := &corev1.ConfigMap{}
	if err := m.Get(ctx, request.NamespacedName, parent); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	wanted := childrenOf(parent)
	again := false
	var failures []error
	for i := range children.Items {
		child := &children.Items[i]
		if child.DeletionTimestamp == nil && (!slices.Contains(wanted, child.Name) || !metav1.IsControlledBy(child, parent)) {
			err := m.Delete(ctx, child, client.Preconditions{UID: &child.UID, ResourceVersion: &child.ResourceVersion})
			failures, again = append(failures, client.IgnoreNotFound(err)), true
		}
	}
	for _, name := range wanted {
		right, err := m.keep(ctx, parent, name)
		failures, again = append(failures, err), again || !right
	}
	if err := errors.Join(failures...); err != nil || !again {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: lookAgain}, nil
}

// keep makes a child what it should be. It returns false unless it has found it like that: what is
// left to do may have no event.
func (m mirror) keep(ctx context.Context, parent *corev1.ConfigMap, name string) (right bool, err error) {
	child := &corev1.Secret{}
	err = m.Get(ctx, client.ObjectKey{Namespace: parent.Namespace, Name: name}, child)
	if apierrors.IsNotFound(err) {
		return false, m.Create(ctx, childOf(parent, name))
	}
	if err != nil {
		return false, err
	}
	owner := metav1.GetControllerOfNoCopy(child)
	switch {
	case owner != nil && owner.UID != parent.UID, owner == nil && child.DeletionTimestamp != nil:
		return false, nil // it belongs to somebody else, whom the event of its end will name
	case child.DeletionTimestamp != nil: // the event of its end names us
		return true, nil
	case owner != nil && string(child.Data["value"]) == parent.Data["value"]:
		return true, nil
	}
	wanted := childOf(parent, name)
	child = child.DeepCopy()
	child.OwnerReferences, child.Data = wanted.OwnerReferences, wanted.Data
	return false, m.Update(ctx, child)
}

// childrenOf are the names of the Secrets that a ConfigMap should have.
func childrenOf(parent *corev1.ConfigMap) (names []string) {
	if !isMirrored(parent) || parent.DeletionTimestamp != nil {
		return nil
	}
	for _, child := range strings.FieldsFunc(parent.Data["children"], func(r rune) bool { return r == ',' }) {
		names = append(names, parent.Name+"-"+child)
	}
	return names
}

func childOf(parent *corev1.ConfigMap, name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: parent.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}},
		Data: map[string][]byte{"value": []byte(parent.Data["value"])},
	}
}
