package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Probe is an object that makes no work for a controller, except that the controller answers it: a
// ReplicaSet with 0 replicas gets a status. So a probe finds any controller for the kind, in any
// process and under any name.
type Probe struct {
	// Original is the name of Kubernetes' own controller in kube-controller-manager's flag
	// --controllers.
	Original string
	// Optional is true if clusters rarely switch the original off. The clusters of this project run
	// it, too.
	Optional bool
	// Object is the probe, without a name. It's copied. A controller must have nothing to do for it
	// but answer.
	Object client.Object
	// Answer has the type of the object that is the answer, which has the probe's name and
	// namespace. Nil is for the probe itself.
	Answer client.Object
	// AnswerLabel is for an answer with a different name: the label whose value is the probe's
	// name.
	AnswerLabel string
	// IsAnswered reports whether an object is an answer. Nil means that any is.
	IsAnswered func(answer client.Object) bool
	// IsAnsweredByDeletion is for a controller that deletes the probe: that's the only answer.
	IsAnsweredByDeletion bool
}

// Check is for a program without a manager, or whose controllers aren't this library's: call it
// before they start. It returns nil if no controller answers, or if options.Skip is set. While the
// API server doesn't answer, Check tries again until ctx ends.
//
// Errors: another controller does the same work, or the API server refuses a request.
func (p Probe) Check(ctx context.Context, config *rest.Config, options ProbeOptions) error {
	if options.Skip {
		return nil
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // each request about Endpoints would print one
	config.WarningHandlerWithContext = nil
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return fmt.Errorf("making the client of the probe: %w", err)
	}
	prober, err := newProber(c, p, options)
	if err != nil {
		return err
	}
	return (&probeSource{prober, logr.FromContextOrDiscard(ctx)}).WaitForSync(ctx)
}

// ProbeTemplate is the template of a probe that needs one, with these labels. No Pod is made from
// it. It complies with the strictest Pod Security level, "restricted", so a namespace that warns
// about or audits violations has nothing to report.
func ProbeTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "none", Image: "none",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// ProbeOptions say whether, where and for how long to probe.
//
// A probe takes Wait, and five requests: a list, which finds probes that a crash has left behind, a
// create, a watch, a get and a delete. Meanwhile every client that lists the kind in the namespace
// sees the probe.
type ProbeOptions struct {
	// Skip is for a program that knows that no other controller does the same work.
	Skip bool
	// Namespace is where the probe is created; "default" if empty. It must exist.
	Namespace string
	// Wait is how long the other controller may take to answer; 3 seconds if 0. The probe misses a
	// controller that takes longer, because its queue is long.
	Wait time.Duration
}

const (
	// probeLabel is on each probe. Its value is the name of the original.
	probeLabel = "loopwright.dev/probe"
	// probeManager is the field manager of a probe. A second one in the managed fields is another
	// controller.
	probeManager = "loopwright-probe"
	// pause is the time between two watches, and between two probes.
	pause = time.Second
)

// prober probes once.
type prober struct {
	Probe
	client    client.WithWatch
	namespace string
	name      string // the same for all tries
	wait      time.Duration
	probes    schema.GroupVersionKind // the kind of Object
	answers   schema.GroupVersionKind // the kind in which the answer comes
}

// probe returns nil if no controller answers, and otherwise an error that names it. It deletes the
// probe in any case.
func (p *prober) probe(ctx context.Context) (err error) {
	if err := p.removeLeftovers(ctx); err != nil {
		return err
	}
	object := p.Object.DeepCopyObject().(client.Object)
	object.SetNamespace(p.namespace)
	object.SetName(p.name) // chosen by the client, because the answer may get lost
	object.SetLabels(map[string]string{probeLabel: p.Original})
	began := time.Now()
	if err := p.client.Create(ctx, object, client.FieldOwner(probeManager)); err != nil {
		return p.explain(err, "create", p.probes)
	}
	answer, err := p.await(ctx, client.ObjectKeyFromObject(object))
	if answer != nil {
		err = &otherOwnerError{
			original: p.Original, optional: p.Optional, by: writersOf(answer),
			probe: p.describe(object), after: time.Since(began),
		}
	}
	// The probe must go even if the process is being stopped.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	uid := object.GetUID()
	deleted := p.client.Delete(ending, object, client.Preconditions{UID: &uid})
	isGone := client.IsAbsent(deleted, client.ObjectKeyFromObject(object))
	if err == nil && (isGone || apierrors.IsConflict(deleted)) {
		return &rivalError{original: p.Original, probe: p.describe(object)}
	}
	if isGone {
		return err
	}
	return errors.Join(err, p.explain(deleted, "delete", p.probes))
}

// removeLeftovers deletes the probes that a crash has left behind. If it deletes a probe that is in
// use, another process is starting the same controller now; that process sees that its probe is
// gone, and gives up. So one of the two keeps running.
func (p *prober) removeLeftovers(ctx context.Context) error {
	list, err := newList(p.client, p.probes)
	if err != nil {
		return err
	}
	if err := p.client.List(
		ctx, list, client.InNamespace(p.namespace), client.MatchingLabels{probeLabel: p.Original},
	); err != nil {
		return p.explain(err, "list", p.probes)
	}
	return eachItem(list, func(left client.Object) error {
		err := p.client.Delete(ctx, left)
		if client.IsAbsent(err, client.ObjectKeyFromObject(left)) {
			return nil
		}
		return p.explain(err, "delete", p.probes)
	})
}

// await returns an answer, or nil if none comes within the wait.
func (p *prober) await(
	ctx context.Context, name client.ObjectKey,
) (answer client.Object, err error) {
	waiting, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	for waiting.Err() == nil {
		if answer, err = p.watch(waiting, name); answer != nil ||
			err != nil && waiting.Err() == nil {
			return answer, err
		}
		sleep(waiting, pause)
	}
	return p.ask(ctx, name)
}

// ask reads the answer from the API server, because a watch may be late.
func (p *prober) ask(ctx context.Context, name client.ObjectKey) (answer client.Object, err error) {
	if p.AnswerLabel == "" {
		if answer, err = newObject(p.client, p.answers); err != nil {
			return nil, err
		}
		switch err := p.client.Get(ctx, name, answer); {
		case p.IsAnsweredByDeletion && client.IsAbsent(err, name):
			return answer, nil
		case client.IsAbsent(err, name) || err == nil && !p.isAnswered(answer),
			p.IsAnsweredByDeletion && err == nil:
			return nil, nil
		case err != nil:
			return nil, p.explain(err, "get", p.answers)
		}
		return answer, nil
	}
	list, err := newList(p.client, p.answers)
	if err != nil {
		return nil, err
	}
	if err := p.client.List(
		ctx, list, client.InNamespace(name.Namespace),
		client.MatchingLabels{p.AnswerLabel: name.Name},
	); err != nil {
		return nil, p.explain(err, "list", p.answers)
	}
	err = eachItem(list, func(one client.Object) error {
		if answer == nil && p.isAnswered(one) {
			answer = one
		}
		return nil
	})
	return answer, err
}

// watch returns the first answer, or nil if the watch ends without one.
func (p *prober) watch(ctx context.Context, name client.ObjectKey) (client.Object, error) {
	list, err := newList(p.client, p.answers)
	if err != nil {
		return nil, err
	}
	var which client.ListOption = client.MatchingFields{"metadata.name": name.Name}
	if p.AnswerLabel != "" {
		which = client.MatchingLabels{p.AnswerLabel: name.Name}
	}
	// Without a resourceVersion, a watch begins with the objects that exist.
	watching, err := p.client.Watch(ctx, list, client.InNamespace(name.Namespace), which)
	if err != nil {
		return nil, p.explain(err, "watch", p.answers)
	}
	defer watching.Stop()
	for {
		select {
		case event, open := <-watching.ResultChan():
			if !open || event.Type == watch.Error {
				return nil, nil
			}
			counts := !p.IsAnsweredByDeletion || event.Type == watch.Deleted
			if object, ok := event.Object.(client.Object); ok && counts && p.isAnswered(object) {
				return object, nil
			}
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// isOther reports whether an object is neither the probe nor its answer. A controller must ignore
// its own probe: a late cache may still show it when it's deleted, and the controller would answer
// it.
func (p *prober) isOther(object client.Object) bool {
	isAnswer := object.GetLabels()[p.AnswerLabel] == p.name // "" isn't the name of any label
	return !isAnswer && object.GetName() != p.name || object.GetNamespace() != p.namespace
}

func (p *prober) isAnswered(answer client.Object) bool {
	return p.IsAnswered == nil || p.IsAnswered(answer)
}

func (p *prober) answerOr(object client.Object) client.Object {
	if p.Answer != nil {
		return p.Answer
	}
	return object
}

// describe names a probe in messages.
func (p *prober) describe(probe client.Object) string {
	return fmt.Sprintf("%s %s", p.probes.Kind, client.ObjectKeyFromObject(probe))
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// probeSource is a source without events. A controller's workers wait until its sources have
// synced, so nothing is reconciled while it probes. The manager starts the controller, and so the
// probe, only when this process is the leader.
type probeSource struct {
	prober *prober
	logger logr.Logger
}

func newProbeSource(mgr manager.Manager, probe Probe, options ProbeOptions) (*probeSource, error) {
	// This client reads from the API server: the cache may not have the probe's namespace.
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		Log: mgr.GetLogger(),
	})
	if err != nil {
		return nil, fmt.Errorf("making the client of the probe: %w", err)
	}
	p, err := newProber(c, probe, options)
	if err != nil {
		return nil, err
	}
	return &probeSource{p, mgr.GetLogger()}, nil
}

func newProber(c client.WithWatch, probe Probe, options ProbeOptions) (*prober, error) {
	p := &prober{
		Probe: probe, client: c, namespace: cmp.Or(options.Namespace, "default"),
		name: probeManager + "-" + rand.String(8),
		wait: cmp.Or(options.Wait, 3*time.Second),
	}
	var err error
	if p.probes, err = apiutil.GVKForObject(probe.Object, c.Scheme()); err != nil {
		return nil, fmt.Errorf("the probe of the %s: %w", probe.Original, err)
	}
	if p.answers, err = apiutil.GVKForObject(p.answerOr(probe.Object), c.Scheme()); err != nil {
		return nil, fmt.Errorf("the probe of the %s: %w", probe.Original, err)
	}
	return p, nil
}

// Start implements source.Source.
func (s *probeSource) Start(
	context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request],
) error {
	return nil
}

// WaitForSync implements source.SyncingSource.
func (s *probeSource) WaitForSync(ctx context.Context) error {
	logger := s.logger.WithValues("namespace", s.prober.namespace, "wait", s.prober.wait)
	var last error
	for {
		logger.Info("Probing whether another controller does the work of the " + s.prober.Original)
		err := s.prober.probe(ctx)
		switch {
		case err == nil || isFinal(err):
			return err
		case ctx.Err() != nil: // the last failure says more than the time-out
			return cmp.Or(last, err)
		}
		last = err
		logger.Error(err, "Probing again")
		sleep(ctx, pause)
	}
}

// String names the source in messages.
func (s *probeSource) String() string { return "probe of the " + s.prober.Original }

// newObject makes an empty object of a kind.
func newObject(c client.Client, kind schema.GroupVersionKind) (client.Object, error) {
	return newOf[client.Object](c.Scheme(), kind)
}

// newList makes an empty list of objects of a kind.
func newList(c client.Client, kind schema.GroupVersionKind) (client.ObjectList, error) {
	kind.Kind += "List"
	return newOf[client.ObjectList](c.Scheme(), kind)
}

func newOf[T any](scheme *runtime.Scheme, kind schema.GroupVersionKind) (made T, err error) {
	object, err := scheme.New(kind)
	made, ok := object.(T)
	if err == nil && !ok {
		err = fmt.Errorf("the kind %s is a %T in Go, which a probe can't use", kind, object)
	}
	return made, err
}

func eachItem(list client.ObjectList, do func(client.Object) error) error {
	return meta.EachListItem(list, func(item runtime.Object) error {
		return do(item.(client.Object))
	})
}
