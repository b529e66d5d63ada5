// Command 05-shared-informer lets several listeners share one watch: a quick one,
// two that sleep, one that comes late, and one that has a bug.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() { demo.Main("Chapter 5: the shared informer", story) }

type tour struct {
	*demo.Demo
	fruit  *informer.Informer[*corev1.ConfigMap]
	lister informer.NamespaceLister[*corev1.ConfigMap]

	quick, slow, merging, late, buggy *listener
	panicked                          chan struct{} // closed when the buggy one has panicked
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("the demo took longer than 4 minutes"))
	defer cancel()

	from, err := informer.NewListWatch[*corev1.ConfigMap](d.Config(), configMaps,
		informer.ListWatchOptions{Namespace: d.Namespace, LabelSelector: "story=fruit", Recorder: d.Recorder})
	if err != nil {
		return err
	}
	panicked := make(chan struct{})
	t := &tour{Demo: d, fruit: informer.NewInformer(informer.ListerWatcher[*corev1.ConfigMap](from), informer.InformerOptions[*corev1.ConfigMap]{
		Transform:     informer.DropManagedFields[*corev1.ConfigMap],
		RecoverPanics: true, // to show that it is possible; by default the process crashes
		OnPanic: func(p informer.HandlerPanic) {
			d.Say("%s panicked at %s: %v", p.Handler, p.Key.Name, p.Value)
			close(panicked)
		},
	}), panicked: panicked}
	t.lister = t.fruit.Lister(configMaps.GroupResource()).InNamespace(d.Namespace)

	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. Three listeners, one watch", func(ctx context.Context) error {
			return t.begin(ctx, func() { running.Go(func() { _ = t.fruit.Run(ctx) }) })
		}},
		{"2. Two of them sleep", t.sleep},
		{"3. A listener comes late", t.comeLate},
		{"4. A listener has a bug", t.panics},
		{"5. Read your writes", t.readYourWrites},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	stop()
	running.Wait()
	d.Table("What the listeners were told", append([][]string{heading}, t.quick.row(), t.slow.row(), t.merging.row(), t.late.row(), t.buggy.row())...)
	return nil
}

func (t *tour) begin(ctx context.Context, run func()) error {
	for _, name := range []string{"apple", "banana"} {
		if _, err := t.create(ctx, name); err != nil {
			return err
		}
	}
	var err error // the quick one comes last: what it has heard is in the backlogs of the others
	if t.slow, err = listen(t.fruit, informer.HandlerOptions{Name: "slow"}); err != nil {
		return err
	}
	if t.merging, err = listen(t.fruit, informer.HandlerOptions{Name: "merging", Coalesce: true}); err != nil {
		return err
	}
	if t.quick, err = listen(t.fruit, informer.HandlerOptions{Name: "quick"}); err != nil {
		return err
	}
	run()
	if err := t.fruit.WaitForSync(ctx); err != nil {
		return err
	}
	for _, l := range []*listener{t.quick, t.slow, t.merging} {
		<-l.registration.Synced()
	}
	t.Say("All listeners have heard about %d objects, after one request to the API server.", t.fruit.Store().Len())
	return nil
}

// sleep sends two listeners to sleep, and lets things happen.
func (t *tour) sleep(ctx context.Context) error {
	slowSleeps, wakeSlow := t.slow.sleepAt("apple")
	mergingSleeps, wakeMerging := t.merging.sleepAt("apple")
	for range 5 {
		if err := t.bite(ctx, "apple"); err != nil {
			return err
		}
		<-slowSleeps
		<-mergingSleeps
	}
	if err := t.bite(ctx, "banana"); err != nil {
		return err
	}
	t.Say("The quick one heard 6 changes. The others sleep in the first. With it, the backlog of the slow one is %d; that of the merging one is %d.",
		t.slow.registration.Backlog().Pending, t.merging.registration.Backlog().Pending)
	wakeSlow()
	wakeMerging()
	for _, l := range []*listener{t.slow, t.merging} {
		if err := l.await(ctx, "banana", "1"); err != nil {
			return err
		}
		t.Say("The %s one wakes up, and hears:", l.name)
		for _, told := range l.recent() {
			t.Say("  %s", told)
		}
	}
	return nil
}

func (t *tour) comeLate(ctx context.Context) error {
	var err error
	if t.late, err = listen(t.fruit, informer.HandlerOptions{Name: "late"}); err != nil {
		return err
	}
	<-t.late.registration.Synced()
	t.Say("It hears what there is: %v.", t.late.recent())
	if _, err := t.create(ctx, "cherry"); err != nil {
		return err
	}
	if err := t.late.await(ctx, "cherry", "0"); err != nil {
		return err
	}
	t.Say("And then what follows, like everybody: %v. There was no new list.", t.late.recent())
	return nil
}

func (t *tour) panics(ctx context.Context) error {
	var err error
	if t.buggy, err = listen(t.fruit, informer.HandlerOptions{Name: "buggy"}); err != nil {
		return err
	}
	<-t.buggy.registration.Synced()
	t.buggy.panicAt("banana")
	if err := t.bite(ctx, "banana"); err != nil {
		return err
	}
	<-t.panicked
	if err := t.bite(ctx, "apple"); err != nil {
		return err
	}
	if err := t.buggy.await(ctx, "apple", "6"); err != nil {
		return err
	}
	t.Say("It was called again for the next change, and the others did not notice.")
	t.buggy.registration.Remove()
	<-t.buggy.registration.Done()
	t.Say("It has been removed.")
	return nil
}

// readYourWrites makes ten fruits, and reads each from the cache right after.
func (t *tour) readYourWrites(ctx context.Context) error {
	stale, waited := 0, time.Duration(0)
	for n := range 10 {
		written, err := t.create(ctx, fmt.Sprintf("date-%d", n))
		if err != nil {
			return err
		}
		if _, err := t.lister.Get(written.Name); err != nil {
			stale++ // the cache has not heard of it yet
		}
		begin := time.Now()
		if err := t.fruit.WaitFor(ctx, informer.KeyOf(written), written.ResourceVersion); err != nil {
			return err
		}
		waited += time.Since(begin)
		if _, err := t.lister.Get(written.Name); err != nil {
			return fmt.Errorf("the cache is older than our own write: %w", err)
		}
	}
	for _, l := range []*listener{t.quick, t.slow, t.merging, t.late} {
		if err := l.await(ctx, "date-9", "0"); err != nil {
			return err
		}
	}
	t.Say("Of 10 reads right after the write, %d found nothing. After WaitFor, all found it; it took %s each.", stale, (waited / 10).Round(time.Microsecond))
	return nil
}

func (t *tour) create(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	made, err := t.Client.CoreV1().ConfigMaps(t.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"story": "fruit"}},
		Data:       map[string]string{"bites": "0"},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating ConfigMap %s: %w", name, err)
	}
	return made, nil
}

// bite changes a fruit and waits until the quick listener has heard about it.
func (t *tour) bite(ctx context.Context, name string) error {
	client := t.Client.CoreV1().ConfigMaps(t.Namespace)
	fruit, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", name, err)
	}
	so, _ := strconv.Atoi(fruit.Data["bites"])
	fruit.Data["bites"] = strconv.Itoa(so + 1)
	if _, err := client.Update(ctx, fruit, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("biting into ConfigMap %s: %w", name, err)
	}
	return t.quick.await(ctx, name, fruit.Data["bites"])
}
