// Command 01-list-watch lists ConfigMaps, and watches from the version of the list.
package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/chapters/01-list-watch/fruit"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 1: list, then watch from there", follow,
		demo.Predict(5,
			"which events come in step 5? How many lists has the program sent by then?",
			"the two events; step 1 sent the only list"))
}

// follow lists the fruit, and watches it: until there is a cherry, then until a date.
func follow(ctx context.Context, d *demo.Demo) error {
	cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
	if err != nil {
		return err
	}
	cluster.Trace = d.Recorder
	configMaps, err := cluster.ListWatch(&corev1.ConfigMap{}, d.Namespace)
	if err != nil {
		return err
	}
	if err := fruit.Create(ctx, d, "apple", "banana"); err != nil {
		return err
	}
	basket, version := fruit.Basket{}, ""
	watchUntil := func(last string) error {
		w, err := configMaps.Watch(ctx, version)
		if err != nil {
			return err
		}
		handle := func(event watch.EventType, obj mini.Object) {
			basket.Saw(d, event, obj)
			if obj.GetName() == last {
				w.Stop() // cuts the connection
			}
		}
		version, _ = mini.Follow(w, version, handle) // good after an error, too
		d.Say("The program knows everything up to resourceVersion %s.", version)
		return nil
	}
	steps := []struct {
		headline string
		step     func() error
	}{
		{"1. The program lists", func() error {
			items, listed, err := configMaps.List(ctx)
			for _, obj := range items {
				basket.Put(obj)
			}
			version = listed
			return err
		}},
		{"2. A user deletes the banana, and creates a cherry", func() error {
			if err := fruit.Delete(ctx, d, "banana"); err != nil {
				return err
			}
			return fruit.Create(ctx, d, "cherry")
		}},
		{"3. The program watches from the version of the list", func() error {
			return watchUntil("cherry")
		}},
		{"4. Meanwhile the user deletes the apple, and creates a date", func() error {
			if err := fruit.Delete(ctx, d, "apple"); err != nil {
				return err
			}
			return fruit.Create(ctx, d, "date")
		}},
		{"5. The program watches from where it was", func() error {
			return errors.Join(watchUntil("date"), basket.Compare(ctx, d))
		}},
	}
	for _, s := range steps {
		if err := d.Step(s.headline, s.step); err != nil {
			return err
		}
	}
	return nil
}
