// Command naive lists ConfigMaps, and then watches from now on.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/01-list-watch/fruit"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() {
	demo.Main("Chapter 1, naive: list, then watch from now on", follow,
		demo.Predict(3,
			"which events does the watch report? "+
				"Which fruit does the program believe in?",
			"the two events and the last two lines"))
}

// follow lists the fruit, and watches it until there is a cherry.
func follow(ctx context.Context, d *demo.Demo) error {
	configMaps := d.Client.CoreV1().ConfigMaps(d.Namespace)
	basket := fruit.Basket{}
	if err := fruit.Create(ctx, d, "apple", "banana"); err != nil {
		return err
	}
	if err := d.Step("1. The program lists", func() error {
		list, err := configMaps.List(ctx, metav1.ListOptions{})
		for i := range list.Items {
			basket.Put(&list.Items[i])
		}
		d.Say("The list shows %d fruits.", len(basket))
		return err
	}); err != nil {
		return err
	}
	if err := d.Step("2. A user deletes the banana", func() error {
		return fruit.Delete(ctx, d, "banana")
	}); err != nil {
		return err
	}
	return d.Step("3. The program watches, and the user creates a cherry", func() error {
		w, err := configMaps.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		defer w.Stop()
		if err := fruit.Create(ctx, d, "cherry"); err != nil {
			return err
		}
		for event := range w.ResultChan() {
			configMap := event.Object.(*corev1.ConfigMap)
			basket.Saw(d, event.Type, configMap)
			if configMap.Name == "cherry" {
				break
			}
		}
		return basket.Compare(ctx, d)
	})
}
