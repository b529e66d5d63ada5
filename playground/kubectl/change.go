package kubectl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// create stores an object that kubectl makes of flags.
func (c *call) create(ctx context.Context, k *kind, obj runtime.Object, done string) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(k.resource().GroupVersion().WithKind(k.name))
	delete(u.Object, "status")
	if _, err = c.on(k).Create(ctx, u, metav1.CreateOptions{}); err != nil {
		return err
	}
	return c.say("%s/%s %s", k.full(), u.GetName(), done)
}

func (c *call) name() (string, error) {
	if len(c.args) != 1 {
		return "", fmt.Errorf("exactly one NAME is required, got %d", len(c.args))
	}
	return c.args[0], nil
}

func createDeployment(ctx context.Context, c *call) error {
	name, err := c.name()
	if err != nil {
		return err
	}
	if c.image == "" {
		return errors.New(`required flag(s) "image" not set`)
	}
	repository, _, _ := strings.Cut(c.image[strings.LastIndex(c.image, "/")+1:], ":")
	container := corev1.Container{Name: repository, Image: c.image}
	if c.port != 0 {
		container.Ports = []corev1.ContainerPort{{ContainerPort: c.port}}
	}
	if c.replicas < 0 {
		c.replicas = 1
	}
	labels := map[string]string{"app": name}
	k, _ := kindCalled("deployments")
	err = c.create(ctx, k, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &c.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}, "created")
	if err != nil {
		return fmt.Errorf(
			"failed to create deployment: %v",
			err,
		) // not %w: kubectl prints no reason here
	}
	return nil
}

func createNamespace(ctx context.Context, c *call) error {
	name, err := c.name()
	if err != nil {
		return err
	}
	k, _ := kindCalled("namespaces")
	return c.create(ctx, k, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, "created")
}

func expose(ctx context.Context, c *call) error {
	t, err := c.one(2)
	if err != nil {
		return err
	}
	if t.kind.name != "Deployment" {
		return fmt.Errorf("only deployments can be exposed here, not %s", t.kind.plural)
	}
	if c.port == 0 {
		return errors.New("couldn't find port via --port flag or introspection")
	}
	u, err := c.on(t.kind).Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	d, err := as[appsv1.Deployment](u)
	if err != nil {
		return err
	}
	k, _ := kindCalled("services")
	return c.create(ctx, k, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(c.options.name, t.name), Labels: d.Labels},
		Spec: corev1.ServiceSpec{
			Selector: d.Spec.Selector.MatchLabels,
			Ports:    []corev1.ServicePort{{Port: c.port, TargetPort: intstr.FromInt32(c.port)}},
		},
	}, "exposed")
}

// patch changes a part of an object, and says what was done.
func (c *call) patch(ctx context.Context, t target, change any, done string) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if _, err := c.on(t.kind).Patch(ctx, t.name, types.StrategicMergePatchType, body, metav1.PatchOptions{}); err != nil {
		return err
	}
	return c.say("%s/%s %s", t.kind.full(), t.name, done)
}

// fields is a part of an object.
type fields = map[string]any

func scale(ctx context.Context, c *call) error {
	if c.replicas < 0 {
		return errors.New(
			"The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0",
		)
	}
	t, err := c.one(2)
	if err != nil {
		return err
	}
	switch t.kind.name {
	case "Deployment", "ReplicaSet", "StatefulSet":
		return c.patch(ctx, t, fields{"spec": fields{"replicas": c.replicas}}, "scaled")
	}
	return fmt.Errorf("cannot scale %s: it has no number of replicas", t.kind.plural)
}

func setImage(ctx context.Context, c *call) error {
	t, err := c.one(2)
	if err != nil {
		return err
	}
	if len(c.args) == 0 {
		return errors.New("at least one image update is required")
	}
	path := []string{"spec", "template", "spec", "containers"}
	switch t.kind.name {
	case "Pod":
		path = []string{"spec", "containers"}
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet":
	default:
		return fmt.Errorf("%s has no containers whose image could be changed", t.kind.full())
	}
	u, err := c.on(t.kind).Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var has, changed []any
	has, _, _ = unstructured.NestedSlice(u.Object, path...)
	for _, word := range c.args {
		name, image, found := strings.Cut(word, "=")
		if !found || name == "" || image == "" {
			return fmt.Errorf("%q is no CONTAINER=IMAGE", word)
		}
		before := len(changed)
		for _, container := range has {
			if is := container.(fields)["name"]; name == "*" || name == is {
				changed = append(changed, fields{"name": is, "image": image})
			}
		}
		if len(changed) == before {
			return fmt.Errorf("unable to find container named %q", name)
		}
	}
	var change any = changed
	for i := len(path) - 1; i >= 0; i-- {
		change = fields{path[i]: change}
	}
	return c.patch(ctx, t, change, "image updated")
}

func label(ctx context.Context, c *call) error {
	set, resources := fields{}, []string(nil)
	for _, word := range c.args {
		key, value, found := strings.Cut(word, "=")
		remove, isRemoval := strings.CutSuffix(word, "-")
		switch {
		case found && key != "":
			set[key] = value
		case isRemoval && len(resources) > 0 && remove != "":
			set[remove] = nil
		default:
			resources = append(resources, word)
		}
	}
	if len(set) == 0 {
		return errors.New("at least one label update is required")
	}
	wanted, err := targets(resources)
	if err != nil {
		return err
	}
	for _, t := range wanted {
		if t.name == "" && !c.all && c.selector == "" {
			return errors.New(
				"one or more resources must be specified as <resource> <name> or <resource>/<name>",
			)
		}
		objs, _, err := c.objects(ctx, t)
		if err != nil {
			return err
		}
		for _, obj := range objs {
			if err := c.labelOne(ctx, target{t.kind, obj.GetName()}, obj.GetLabels(), set); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) labelOne(ctx context.Context, t target, has map[string]string, set fields) error {
	done := "not labeled"
	for _, key := range slices.Sorted(maps.Keys(set)) {
		value := set[key]
		old, found := has[key]
		switch {
		case value == nil && found:
			done = "unlabeled"
		case value == nil:
		case found && old != value && !c.overwrite:
			return fmt.Errorf("'%s' already has a value (%s), and --overwrite is false", key, old)
		case old != value || !found:
			done = "labeled"
		}
	}
	return c.patch(ctx, t, fields{"metadata": fields{"labels": set}}, done)
}

func cordon(ctx context.Context, c *call) error   { return c.cordon(ctx, true) }
func uncordon(ctx context.Context, c *call) error { return c.cordon(ctx, false) }

func (c *call) cordon(ctx context.Context, off bool) error {
	if len(c.args) == 0 {
		return fmt.Errorf("USAGE: %s NODE [flags]", c.command.name)
	}
	nodes, _ := kindCalled("nodes")
	for _, name := range c.args {
		name = strings.TrimPrefix(name, "node/")
		u, err := c.on(nodes).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		is, _, _ := unstructured.NestedBool(u.Object, "spec", "unschedulable")
		done := c.command.name + "ed"
		if is == off {
			if err := c.say("node/%s already %s", name, done); err != nil {
				return err
			}
			continue
		}
		var value any // null removes the field
		if off {
			value = true
		}
		if err := c.patch(ctx, target{nodes, name}, fields{"spec": fields{"unschedulable": value}}, done); err != nil {
			return err
		}
	}
	return nil
}

var cascades = map[string]metav1.DeletionPropagation{
	"background": metav1.DeletePropagationBackground, "true": metav1.DeletePropagationBackground,
	"foreground": metav1.DeletePropagationForeground,
	"orphan":     metav1.DeletePropagationOrphan, "false": metav1.DeletePropagationOrphan,
}

func deleteObjects(ctx context.Context, c *call) error {
	policy, ok := cascades[c.cascade]
	if !ok {
		return fmt.Errorf(
			"invalid cascade value (%s). Must be \"background\", \"foreground\", or \"orphan\"",
			c.cascade,
		)
	}
	wanted, err := targets(c.args)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{PropagationPolicy: &policy}
	done := "deleted"
	switch {
	case c.now:
		options.GracePeriodSeconds = new(int64(1))
	case c.force:
		options.GracePeriodSeconds, done, c.wait = new(int64(0)), "force deleted", false
	case c.gracePeriod == 0:
		options.GracePeriodSeconds = new(int64(1)) // kubectl does so, too, without --force
	case c.gracePeriod > 0:
		options.GracePeriodSeconds = &c.gracePeriod
	}
	var failed []error
	var gone []unstructured.Unstructured
	var kindOf []*kind
	for _, t := range wanted {
		if t.name == "" && !c.all && c.selector == "" {
			return errors.New("resource(s) were provided, but no name was specified")
		}
		objs, _, err := c.objects(ctx, t)
		for _, obj := range objs {
			if err = c.on(t.kind).Delete(ctx, obj.GetName(), options); err != nil {
				break
			}
			where := ""
			if !t.kind.cluster {
				where = " from " + obj.GetNamespace() + " namespace"
			}
			_ = c.say("%s %q %s%s", t.kind.full(), obj.GetName(), done, where)
			gone, kindOf = append(gone, obj), append(kindOf, t.kind)
		}
		if err != nil {
			failed = append(failed, said(err))
		}
		if len(objs) == 0 && err == nil {
			_ = c.say("No resources found")
		}
	}
	for i := 0; i < len(gone) && c.wait; i++ {
		if err := c.untilGone(ctx, kindOf[i], gone[i]); err != nil {
			return err
		}
	}
	return join(failed)
}

// untilGone blocks until the object is no more, or another one has its name.
func (c *call) untilGone(ctx context.Context, k *kind, was unstructured.Unstructured) error {
	for {
		now, err := c.on(k).Get(ctx, was.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && now.GetUID() != was.GetUID() {
			return nil
		}
		if err != nil {
			return err
		}
		w, err := c.on(k).Watch(ctx, metav1.ListOptions{
			FieldSelector: "metadata.name=" + was.GetName(), ResourceVersion: now.GetResourceVersion(),
		})
		if err != nil {
			return err
		}
		for event := range w.ResultChan() {
			if event.Type == watch.Deleted {
				break
			}
		}
		w.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
