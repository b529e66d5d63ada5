package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
)

var selectedLabels = map[string]string{"story": "fruit"}

// writer changes ConfigMaps and remembers what it did, to compare it with what a
// reader saw.
type writer struct {
	demo *demo.Demo
	news []write
}

// write is a change of a ConfigMap that belongs to the collection.
type write struct {
	event   watch.EventType
	version string // unknown for a deletion
}

func (w *writer) configMaps() typedcorev1.ConfigMapInterface {
	return w.demo.Client.CoreV1().ConfigMaps(w.demo.Namespace)
}

func (w *writer) create(ctx context.Context, name string, labels map[string]string) error {
	made, err := w.configMaps().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating ConfigMap %s: %w", name, err)
	}
	w.note("create", name, made.ResourceVersion)
	if labels != nil {
		w.news = append(w.news, write{watch.Added, made.ResourceVersion})
	}
	return nil
}

func (w *writer) update(ctx context.Context, name string) error {
	found, err := w.configMaps().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", name, err)
	}
	found.Data = map[string]string{"eaten": time.Now().Format(time.RFC3339Nano)}
	updated, err := w.configMaps().Update(ctx, found, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("updating ConfigMap %s: %w", name, err)
	}
	w.note("update", name, updated.ResourceVersion)
	w.news = append(w.news, write{watch.Modified, updated.ResourceVersion})
	return nil
}

// delete returns no resourceVersion: the answer to a deletion does not contain it.
func (w *writer) delete(ctx context.Context, name string) error {
	if err := w.configMaps().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting ConfigMap %s: %w", name, err)
	}
	w.note("delete", name, "")
	w.news = append(w.news, write{event: watch.Deleted})
	return nil
}

func (w *writer) note(op, name, version string) {
	w.demo.Recorder.Record(trace.Event{
		Kind: trace.Write, Outcome: trace.Succeeded, Layer: "writer", Op: op,
		Object: "ConfigMap", Namespace: w.demo.Namespace, Name: name, Version: version,
	})
}
