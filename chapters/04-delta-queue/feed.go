package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
)

// patience is how long an event may take to come.
const patience = time.Minute

// feed fills a delta queue. Chapter 3's reflector does this all the time; here it
// happens when the story says so.
type feed struct {
	from  informer.ListerWatcher[*corev1.ConfigMap]
	queue *informer.DeltaQueue[*corev1.ConfigMap]
	watch informer.Watch[*corev1.ConfigMap]
}

func newFeed(d *demo.Demo, queue *informer.DeltaQueue[*corev1.ConfigMap]) (*feed, error) {
	from, err := informer.NewListWatch[*corev1.ConfigMap](d.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{Namespace: d.Namespace, LabelSelector: "story=fruit"})
	return &feed{from: from, queue: queue}, err
}

func (f *feed) list(ctx context.Context) error {
	list, err := f.from.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.queue.Replace(list.Items, list.ResourceVersion)
	f.watch, err = f.from.Watch(ctx, informer.Cursor{}.Listed(list.ResourceVersion).WatchOptions())
	return err
}

// read queues a number of changes. Bookmarks are no changes.
func (f *feed) read(ctx context.Context, changes int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the event did not come within %s", patience))
	defer cancel()
	late := context.AfterFunc(ctx, f.close)
	defer late()
	for changes > 0 {
		event, err := f.watch.Next()
		if err == nil {
			err = event.Err()
		}
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		if event.Type == watch.Bookmark {
			f.queue.Progress(event.ResourceVersion)
			continue
		}
		f.queue.Apply(event)
		changes--
	}
	return nil
}

func (f *feed) close() {
	if f.watch != nil {
		_ = f.watch.Close()
	}
}
