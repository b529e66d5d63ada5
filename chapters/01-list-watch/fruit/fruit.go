// Package fruit is what both programs of the chapter do: they follow ConfigMaps that are fruit.
package fruit

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/demo"
)

// Basket is the fruit that a program believes in, by name.
type Basket map[string]bool

// Put puts what a list has shown into the basket.
func (b Basket) Put(obj metav1.Object) {
	if obj.GetLabels()["kind"] == "fruit" { // Kubernetes puts another ConfigMap into each namespace
		b[obj.GetName()] = true
	}
}

// Saw reports an event, and does to the basket what the event says.
func (b Basket) Saw(d *demo.Demo, event watch.EventType, obj metav1.Object) {
	if obj.GetLabels()["kind"] != "fruit" {
		return
	}
	d.Say("The watch reports: %s %s", event, obj.GetName())
	b.Put(obj)
	if event == watch.Deleted {
		delete(b, obj.GetName())
	}
}

// Compare says what the program believes in, and what there is.
func (b Basket) Compare(ctx context.Context, d *demo.Demo) error {
	there := Basket{}
	list, err := d.Client.CoreV1().ConfigMaps(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, configMap := range list.Items {
		there.Put(&configMap)
	}
	d.Say("The program believes in %v.", slices.Sorted(maps.Keys(b)))
	d.Say("The cluster has %v.", slices.Sorted(maps.Keys(there)))
	return nil
}

// Create is what a user does with kubectl create.
func Create(ctx context.Context, d *demo.Demo, names ...string) error {
	for _, name := range names {
		fruit := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kind": "fruit"}},
		}
		configMaps := d.Client.CoreV1().ConfigMaps(d.Namespace)
		if _, err := configMaps.Create(ctx, fruit, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Delete is what a user does with kubectl delete.
func Delete(ctx context.Context, d *demo.Demo, name string) error {
	return d.Client.CoreV1().ConfigMaps(d.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
