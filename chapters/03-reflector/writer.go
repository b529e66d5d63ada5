package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
)

var fruitLabels = map[string]string{"story": "fruit"}

// writer changes ConfigMaps and notes it in the flight recorder.
type writer struct{ demo *demo.Demo }

func (w *writer) configMaps() typedcorev1.ConfigMapInterface {
	return w.demo.Client.CoreV1().ConfigMaps(w.demo.Namespace)
}

func (w *writer) create(ctx context.Context, name string, labels map[string]string) error {
	made, err := w.configMaps().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating ConfigMap %s: %w", name, err)
	}
	w.note("create", name, made.ResourceVersion)
	return nil
}

func (w *writer) fruit(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := w.create(ctx, name, fruitLabels); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) update(ctx context.Context, name string) error {
	patch := []byte(`{"data":{"ripe":"yes"}}`)
	updated, err := w.configMaps().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("updating ConfigMap %s: %w", name, err)
	}
	w.note("update", name, updated.ResourceVersion)
	return nil
}

func (w *writer) delete(ctx context.Context, name string) error {
	if err := w.configMaps().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting ConfigMap %s: %w", name, err)
	}
	w.note("delete", name, "")
	return nil
}

func (w *writer) note(op, name, version string) {
	w.demo.Recorder.Record(trace.Event{
		Kind: trace.Write, Outcome: trace.Succeeded, Layer: "writer", Op: op,
		Object: "ConfigMap", Namespace: w.demo.Namespace, Name: name, Version: version,
	})
}
