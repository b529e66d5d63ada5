package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// get prints objects, and with -w what becomes of them.
func get(ctx context.Context, c *call) error {
	switch c.output {
	case "", "wide", "name", "yaml", "json":
	default:
		return fmt.Errorf(
			"-o %s isn't supported here: this prompt has wide, yaml, json and name",
			c.output,
		)
	}
	wanted, err := targets(c.args)
	if err != nil {
		return err
	}
	c.watch = c.watch || c.watchOnly
	if c.watch && len(wanted) > 1 {
		return errors.New("you may only specify a single resource type")
	}
	if c.output == "yaml" || c.output == "json" {
		return c.document(ctx, wanted)
	}
	printed, failed := 0, []error(nil)
	var last *list
	for _, t := range wanted {
		objs, version, err := c.objects(ctx, t)
		if err != nil {
			failed = append(failed, said(err))
			continue
		}
		if last == nil || last.target.kind != t.kind {
			if last != nil && printed > 0 && len(objs) > 0 && c.output != "name" {
				_ = c.say("")
			}
			last = &list{target: t, prefixed: severalKinds(wanted)}
		}
		if c.watchOnly {
			objs = nil
		}
		if err := c.printList(last, objs); err != nil {
			return err
		}
		printed += len(objs)
		if c.watch {
			return c.follow(ctx, last, version)
		}
	}
	if printed == 0 && len(failed) == 0 {
		return c.nothing(wanted[0].kind)
	}
	return join(failed)
}

// join makes one error of several, each on its line.
func join(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	return stderr{errors.Join(failed...)}
}

func (c *call) nothing(k *kind) error {
	if k.cluster || c.allNamespaces {
		return c.say("No resources found")
	}
	return c.say("No resources found in %s namespace.", c.namespace)
}

func severalKinds(wanted []target) bool {
	for _, t := range wanted {
		if t.kind != wanted[0].kind {
			return true
		}
	}
	return false
}

// list is what has been printed of one kind.
type list struct {
	target   target
	prefixed bool // with the kind: there are several
	table    table
	begun    bool // the headers have been printed
}

func (c *call) printList(l *list, objs []unstructured.Unstructured) error {
	k := l.target.kind
	var rows [][]string
	if !l.begun && !c.noHeaders && len(objs) > 0 && c.output != "name" {
		rows = append(rows, c.row(k, k.headers(true), "NAMESPACE", "LABELS"))
	}
	for i := range objs {
		obj := &objs[i]
		if c.output == "name" {
			rows = append(rows, []string{k.full() + "/" + obj.GetName()})
			continue
		}
		cells, err := k.cells(obj)
		if err != nil {
			return err
		}
		if l.prefixed {
			cells[0] = k.full() + "/" + cells[0]
		}
		set := labels.Set(obj.GetLabels())
		text := labels.FormatLabels(set)
		rows = append(rows, c.row(k, cells, obj.GetNamespace(), text))
	}
	l.begun = l.begun || len(objs) > 0
	return l.table.print(c.out, rows)
}

// row leaves out of cells what this line does not show, and adds what it shows beside them.
func (c *call) row(k *kind, cells []string, namespace, labels string) (all []string) {
	if c.allNamespaces && !k.cluster {
		all = append(all, namespace)
	}
	cells = cells[:len(k.headers(c.output == "wide"))]
	all = append(all, cells...)
	if c.showLabels {
		all = append(all, labels)
	}
	return all
}

// follow prints a row for each event of a watch until ctx ends.
func (c *call) follow(ctx context.Context, l *list, version string) (err error) {
	for err == nil && ctx.Err() == nil {
		version, err = c.followOnce(ctx, l, version)
	}
	return err
}

// followOnce does it until the watch ends, and returns the version that it has reached.
func (c *call) followOnce(ctx context.Context, l *list, version string) (string, error) {
	options := metav1.ListOptions{LabelSelector: c.selector, ResourceVersion: version}
	if l.target.name != "" {
		options.FieldSelector = "metadata.name=" + l.target.name
	}
	w, err := c.on(l.target.kind).Watch(ctx, options)
	if err != nil {
		return version, err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return version, apierrors.FromObject(event.Object)
		}
		version = obj.GetResourceVersion()
		if err := c.printList(l, []unstructured.Unstructured{*obj}); err != nil {
			return version, err
		}
	}
	return version, nil
}

// document prints objects whole.
func (c *call) document(ctx context.Context, wanted []target) error {
	all := []any{}
	var failed []error
	for _, t := range wanted {
		objs, _, err := c.objects(ctx, t)
		if err != nil {
			failed = append(failed, said(err))
		}
		for i := range objs {
			objs[i].SetManagedFields(nil) // kubectl hides them, too
			all = append(all, objs[i].Object)
		}
	}
	var document any = map[string]any{
		"apiVersion": "v1", "kind": "List", "items": all, "metadata": map[string]any{"resourceVersion": ""},
	}
	if len(wanted) == 1 && wanted[0].name != "" {
		if len(all) == 0 {
			return join(failed)
		}
		document = all[0]
	}
	text, err := encode(document, c.output)
	if err != nil {
		return err
	}
	if err := c.say("%s", text); err != nil {
		return err
	}
	return join(failed)
}

func encode(document any, format string) (string, error) {
	var text []byte
	var err error
	if format == "json" {
		text, err = json.MarshalIndent(document, "", "    ")
	} else {
		text, err = yaml.Marshal(document)
	}
	return strings.TrimSuffix(string(text), "\n"), err
}
