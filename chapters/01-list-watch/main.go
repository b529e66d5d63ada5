// Command 01-list-watch shows the two requests that everything else is built
// on, and the number that ties them together: list, watch, resourceVersion.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() { demo.Main("Chapter 1: list, then watch", story) }

const (
	// selector picks the ConfigMaps of the story. The namespace holds others.
	selector = "story=fruit"
	// patience is how long an event may take to come.
	patience = time.Minute
)

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("the demo took longer than 4 minutes"))
	defer cancel()

	write := &writer{demo: d}
	configMaps, err := informer.NewListWatch[*corev1.ConfigMap](d.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{Namespace: d.Namespace, LabelSelector: selector, Recorder: d.Recorder})
	if err != nil {
		return err
	}
	pods, err := informer.NewListWatch[*corev1.Pod](d.Config(), corev1.SchemeGroupVersion.WithResource("pods"),
		informer.ListWatchOptions{Namespace: d.Namespace, Recorder: d.Recorder})
	if err != nil {
		return err
	}
	fruit, sleeper, machines := newReader("ConfigMap", configMaps), newReader("ConfigMap, asleep", configMaps), newReader("Pod", pods)
	for _, step := range []struct {
		headline string
		play     func() error
	}{
		{"1. A list shows one moment", func() error { return listThePages(ctx, d, write, fruit, sleeper) }},
		{"2. A watch shows what happens after that moment", func() error { return watchTheWriter(ctx, d, write, fruit) }},
		{"3. Others write, too", func() error { return watchAPod(ctx, d, machines) }},
		{"4. Cut off, and back", func() error { return resume(ctx, d, write, fruit) }},
		{"5. Quiet for us, but not for the server: a bookmark", func() error { return awaitBookmark(ctx, d, write, fruit) }},
		{"6. Away for too long: 410 Gone", func() error { return sleepTooLong(ctx, d, sleeper) }},
	} {
		if err := d.Step(step.headline, step.play); err != nil {
			return err
		}
	}
	d.Table("What the readers saw", append([][]string{heading}, fruit.row(), machines.row(), sleeper.row())...)
	return fruit.account(write)
}

// listThePages lets two readers list the same three ConfigMaps.
func listThePages(ctx context.Context, d *demo.Demo, write *writer, fruit, sleeper *reader[*corev1.ConfigMap]) error {
	for _, name := range []string{"apple", "banana", "cherry"} {
		if err := write.create(ctx, name, selectedLabels); err != nil {
			return err
		}
	}
	// Something that does not belong to the collection moves its moment on.
	if err := write.create(ctx, "onion", nil); err != nil {
		return err
	}
	if err := fruit.list(ctx, 2); err != nil {
		return err
	}
	d.Say("Two pages, one moment: resourceVersion %s.", fruit.cursor.ResourceVersion())
	d.Say("The newest of the three items has %s. The list's is later: the onion came in between.", fruit.copy["cherry"].ResourceVersion)
	write.news = nil // what was written so far is in the list
	if err := sleeper.list(ctx, 0); err != nil {
		return err
	}
	d.Say("A second reader has listed as well. It falls asleep now; we meet it in step 6.")
	return nil
}

// watchTheWriter reads each event right after the write that caused it.
func watchTheWriter(ctx context.Context, d *demo.Demo, write *writer, fruit *reader[*corev1.ConfigMap]) error {
	if err := fruit.open(ctx, nil); err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error { return write.update(ctx, "banana") },
		func() error { return write.delete(ctx, "cherry") },
		func() error { return write.create(ctx, "date", selectedLabels) },
	} {
		if err := errors.Join(do(), fruit.read(ctx, 1)); err != nil {
			return err
		}
	}
	d.Say("Each write got a resourceVersion, and its event has the same one. The answer to a deletion does not contain it; its event does.")
	return nil
}

// watchAPod shows the life of a Pod, of which we write only the first and the last
// step.
func watchAPod(ctx context.Context, d *demo.Demo, machines *reader[*corev1.Pod]) error {
	if err := errors.Join(machines.list(ctx, 0), machines.open(ctx, nil)); err != nil {
		return err
	}
	pods := d.Client.CoreV1().Pods(d.Namespace)
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: d.Image}}, TerminationGracePeriodSeconds: ptr.To[int64](1)},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the pod: %w", err)
	}
	err = machines.readUntil(ctx, func(e informer.Event[*corev1.Pod]) bool { return e.Object.Status.Phase == corev1.PodRunning })
	if err != nil {
		return err
	}
	running := machines.copy["web"]
	d.Say("We wrote the Pod once. %s bound it to %s, and a kubelet reported it Running.", "kube-scheduler", running.Spec.NodeName)
	if err := pods.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the pod: %w", err)
	}
	err = machines.readUntil(ctx, func(e informer.Event[*corev1.Pod]) bool { return machines.copy["web"] == nil })
	d.Say("A Pod's deletion is a change first (its deletionTimestamp) and an end later, when the kubelet is done.")
	return errors.Join(err, machines.close())
}

// resume loses the connection, lets things happen, and resumes from the cursor.
func resume(ctx context.Context, d *demo.Demo, write *writer, fruit *reader[*corev1.ConfigMap]) error {
	if err := fruit.close(); err != nil {
		return err
	}
	d.Say("The connection is cut. The cursor stands at resourceVersion %s. Meanwhile:", fruit.cursor.ResourceVersion())
	if err := errors.Join(write.update(ctx, "apple"), write.delete(ctx, "banana"), write.create(ctx, "elderberry", selectedLabels)); err != nil {
		return err
	}
	if err := errors.Join(fruit.open(ctx, nil), fruit.read(ctx, 3)); err != nil {
		return err
	}
	d.Say("All three arrived, in order, and nothing that the reader had seen before.")
	return fruit.close()
}

// awaitBookmark asks for a short watch: the server sends a bookmark shortly
// before it ends one, and about once a minute on a long one.
func awaitBookmark(ctx context.Context, d *demo.Demo, write *writer, fruit *reader[*corev1.ConfigMap]) error {
	if err := fruit.open(ctx, ptr.To[int64](5)); err != nil {
		return err
	}
	before := fruit.cursor.ResourceVersion()
	if err := write.create(ctx, "leek", nil); err != nil {
		return err
	}
	d.Say("A leek is no fruit, so there is no event for it. The server ends this watch after 5 s; we asked it to.")
	if err := fruit.readToEnd(ctx); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the watch was to end in good order, but: %w", err)
	}
	d.Say("The bookmark moved the cursor from %s to %s, without an event.", before, fruit.cursor.ResourceVersion())
	return nil
}

// sleepTooLong makes the server forget what the sleeper has not seen. A server
// remembers the changes of the last minutes, and none from before its start.
func sleepTooLong(ctx context.Context, d *demo.Demo, sleeper *reader[*corev1.ConfigMap]) error {
	if d.Cluster.Mode == cluster.Current {
		sleeper.cursor = informer.Cursor{}.Listed("1")
		d.Say("The sleeper claims to have slept since the cluster's first write.")
	} else {
		d.Say("The API server is killed and starts again. It has lost its memory of what happened before.")
		if err := d.Cluster.Restart(ctx, cluster.APIServer, 0); err != nil {
			return err
		}
	}
	err := sleeper.open(ctx, ptr.To[int64](5))
	if err == nil {
		err = sleeper.readToEnd(ctx)
	}
	if apierrors.IsResourceExpired(err) && !sleeper.cursor.MustList() {
		return fmt.Errorf("the server answered 410, but the cursor still stands at %s and would ask for the same forever: look at Cursor.Failed", sleeper.cursor.ResourceVersion())
	}
	if !sleeper.cursor.MustList() {
		d.Say("This server is too young to have forgotten anything (%v). Try again when it has run for a while.", err)
		return nil
	}
	before := sleeper.names()
	if err := sleeper.list(ctx, 0); err != nil {
		return err
	}
	d.Say("The sleeper knew %v.", before)
	d.Say("Now there are %v.", sleeper.names())
	d.Say("It got no event for the deletion of the banana and the cherry. Only a comparison shows that they are gone.")
	return nil
}
