package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
)

// patience is how long a change may take to come.
const patience = time.Minute

// feed brings a store up to date with what chapter 1 built: a list, a watch and
// a cursor. It reads only when the demo calls it, so that the story stays in order.
type feed struct {
	pods   informer.ListerWatcher[*corev1.Pod]
	store  *informer.Store[*corev1.Pod]
	cursor informer.Cursor
	watch  informer.Watch[*corev1.Pod]
}

func newFeed(d *demo.Demo, store *informer.Store[*corev1.Pod]) (*feed, error) {
	pods, err := informer.NewListWatch[*corev1.Pod](d.Config(), corev1.SchemeGroupVersion.WithResource("pods"),
		informer.ListWatchOptions{Namespace: d.Namespace})
	return &feed{pods: pods, store: store}, err
}

// list replaces what the store holds, and watches from there.
func (f *feed) list(ctx context.Context) error {
	list, err := f.pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.store.Replace(list.Items)
	f.cursor = f.cursor.Listed(list.ResourceVersion)
	f.close()
	f.watch, err = f.pods.Watch(ctx, f.cursor.WatchOptions())
	return err
}

// follow applies one event after the other until done says so. If the server ends
// the watch in good order, it watches on from where it was.
func (f *feed) follow(ctx context.Context, done func() bool) error {
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the change did not come within %s", patience))
	defer cancel()
	for !done() {
		event, err := f.next(limited)
		if errors.Is(err, io.EOF) {
			if f.watch, err = f.pods.Watch(ctx, f.cursor.WatchOptions()); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		f.apply(event)
	}
	return nil
}

// next is the next event, or the cause for which ctx ended.
func (f *feed) next(ctx context.Context) (informer.Event[*corev1.Pod], error) {
	watching := f.watch
	late := context.AfterFunc(ctx, func() { _ = watching.Close() })
	defer late()
	event, err := watching.Next()
	if err == nil {
		err = event.Err()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return event, err
}

// region apply

// apply puts an event into the store.
func (f *feed) apply(event informer.Event[*corev1.Pod]) {
	var deliver bool
	if f.cursor, deliver = f.cursor.Saw(event.Type, event.ResourceVersion); !deliver {
		return
	}
	if event.Type == watch.Deleted {
		f.store.Delete(informer.KeyOf(event.Object))
	} else {
		f.store.Put(event.Object)
	}
}

// endregion apply

func (f *feed) close() {
	if f.watch != nil {
		_ = f.watch.Close()
	}
}
