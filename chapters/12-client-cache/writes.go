package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// unknownFields writes a price in several ways, and looks whether the color is still there.
func (s *stage) unknownFields(ctx context.Context) error {
	if err := s.install(ctx); err != nil {
		return err
	}
	_, c, err := s.open(ctx, s.config(), cache.Options{}, client.CacheOptions{Unstructured: true})
	if err != nil {
		return err
	}
	s.Say("A Stall has a price and a color. The Go type of this program has no color.")
	rows := [][]string{{"the price is written", "the color, after that"}}
	for n, way := range []struct {
		what  string
		write func(context.Context, client.Client, client.ObjectKey) error
	}{
		{"as a typed object, with Update", updateTyped},
		{"as a typed object, with Patch and MergeFrom", patchTyped},
		{"as an unstructured object, with Update", s.updateUnstructured},
		{"as an unstructured object that was made of a typed one, with Update", s.updateConverted},
	} {
		key := s.key(fmt.Sprintf("stall-%d", n))
		if err := s.openStall(ctx, key.Name); err != nil {
			return err
		}
		if err := s.until(ctx, "the cache", func(ctx context.Context) error { return c.Get(ctx, key, s.unstructuredStall("")) }); err != nil {
			return err
		}
		if err := s.until(ctx, "the cache", func(ctx context.Context) error { return c.Get(ctx, key, &Stall{}) }); err != nil {
			return err
		}
		if err := way.write(ctx, c, key); err != nil {
			return fmt.Errorf("%s: %w", way.what, err)
		}
		after := s.unstructuredStall("")
		if err := s.users.Get(ctx, key, after); err != nil {
			return err
		}
		color, found, _ := unstructured.NestedString(after.Object, "spec", "color")
		if !found {
			color = "deleted"
		}
		rows = append(rows, []string{way.what, color})
	}
	s.Table("  Which write deletes a field that it does not know?", rows...)
	return nil
}

// region unknown

func updateTyped(ctx context.Context, c client.Client, key client.ObjectKey) error {
	stall := &Stall{}
	if err := c.Get(ctx, key, stall); err != nil {
		return err
	}
	stall.Spec.Price = 2
	return c.Update(ctx, stall)
}

func patchTyped(ctx context.Context, c client.Client, key client.ObjectKey) error {
	stall := &Stall{}
	if err := c.Get(ctx, key, stall); err != nil {
		return err
	}
	before := stall.DeepCopyObject().(*Stall)
	stall.Spec.Price = 2
	return c.Patch(ctx, stall, client.MergeFrom(before))
}

// endregion unknown

func (s *stage) updateUnstructured(ctx context.Context, c client.Client, key client.ObjectKey) error {
	stall := s.unstructuredStall("")
	if err := c.Get(ctx, key, stall); err != nil {
		return err
	}
	return errors.Join(unstructured.SetNestedField(stall.Object, int64(2), "spec", "price"), c.Update(ctx, stall))
}

// updateConverted is what a cache would make its readers do that has only typed objects.
func (s *stage) updateConverted(ctx context.Context, c client.Client, key client.ObjectKey) error {
	typed, stall := &Stall{}, s.unstructuredStall("")
	if err := c.Get(ctx, key, typed); err != nil {
		return err
	}
	typed.Spec.Price = 2
	var err error
	if stall.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
		return err
	}
	return c.Update(ctx, stall)
}

// twoWriters lets two programs change one object that both have read before.
func (s *stage) twoWriters(ctx context.Context) error {
	s.Say("Two programs read a ConfigMap. The first writes the price 3. The second does not know it, and writes the color green.")
	rows := [][]string{{"the second program tries", "answer", "price", "color"}}
	for n, way := range []struct {
		what  string
		write func(ctx context.Context, read *corev1.ConfigMap) error
	}{
		{"Update", func(ctx context.Context, read *corev1.ConfigMap) error {
			read.Data["color"] = "green"
			return s.users.Update(ctx, read)
		}},
		{"Update of an object without resourceVersion", func(ctx context.Context, read *corev1.ConfigMap) error {
			read.Data["color"], read.ResourceVersion = "green", ""
			return s.users.Update(ctx, read)
		}},
		{"Patch with MergeFrom", func(ctx context.Context, read *corev1.ConfigMap) error {
			before := read.DeepCopy()
			read.Data["color"] = "green"
			return s.users.Patch(ctx, read, client.MergeFrom(before))
		}},
		{"the same, with an optimistic lock", func(ctx context.Context, read *corev1.ConfigMap) error {
			before := read.DeepCopy()
			read.Data["color"] = "green"
			return s.users.Patch(ctx, read, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}},
		{"Apply of the color", func(ctx context.Context, read *corev1.ConfigMap) error {
			return s.users.Apply(ctx, coreapply.ConfigMap(read.Name, read.Namespace).WithData(map[string]string{"color": "green"}), client.FieldOwner("second"))
		}},
		{"Apply of the price, too", func(ctx context.Context, read *corev1.ConfigMap) error {
			return s.users.Apply(ctx, coreapply.ConfigMap(read.Name, read.Namespace).WithData(map[string]string{"color": "green", "price": "1"}), client.FieldOwner("second"))
		}},
	} {
		second := &corev1.ConfigMap{ObjectMeta: s.meta(fmt.Sprintf("shared-%d", n)), Data: map[string]string{"note": "one"}}
		if err := s.users.Create(ctx, second); err != nil {
			return err
		}
		price := coreapply.ConfigMap(second.Name, second.Namespace).WithData(map[string]string{"price": "3"})
		if err := s.users.Apply(ctx, price, client.FieldOwner("first")); err != nil {
			return err
		}
		answer := describe(way.write(ctx, second))
		after := &corev1.ConfigMap{}
		if err := s.users.Get(ctx, client.ObjectKeyFromObject(second), after); err != nil {
			return err
		}
		rows = append(rows, []string{way.what, answer, or(after.Data["price"], "lost"), or(after.Data["color"], "none")})
	}
	s.Table("  Two writers of one object", rows...)
	return s.status(ctx)
}

func describe(err error) string {
	switch status := apierrors.APIStatus(nil); {
	case err == nil:
		return "written"
	case errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0:
		return "conflict with the owner of " + status.Status().Details.Causes[0].Field
	case apierrors.IsConflict(err):
		return "conflict"
	}
	return err.Error()
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// status writes spec and status in one Update, and then the status alone.
func (s *stage) status(ctx context.Context) error {
	stall := &Stall{}
	if err := s.users.Get(ctx, s.key("stall-1"), stall); err != nil {
		return err
	}
	before, write := stall.Generation, func(update func(context.Context, *Stall) error, price, sold int) error {
		stall.Spec.Price, stall.Status.Sold = price, sold
		return update(ctx, stall)
	}
	s.Say("Spec and status of a Stall have writes of their own:")
	err := write(func(ctx context.Context, o *Stall) error { return s.users.Update(ctx, o) }, 5, 50)
	s.Say("  Update with price 5 and sold 50:          price %d, sold %d, generation %d to %d", stall.Spec.Price, stall.Status.Sold, before, stall.Generation)
	before = stall.Generation
	err = errors.Join(err, write(func(ctx context.Context, o *Stall) error { return s.users.Status().Update(ctx, o) }, 6, 60))
	s.Say("  Status().Update with price 6 and sold 60: price %d, sold %d, generation %d to %d", stall.Spec.Price, stall.Status.Sold, before, stall.Generation)
	return err
}
