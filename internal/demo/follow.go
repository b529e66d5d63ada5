package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/trace"
)

// eventLimit is how long an event may take to come.
const eventLimit = time.Minute

// Follower reads the ConfigMaps of one namespace with the library's ListWatch: a
// list, a watch and a cursor. It is the source of events for the demos of part
// II, which are about what comes after it. A Follower belongs to one goroutine.
type Follower struct {
	// Listed is what was there when the following began.
	Listed []*corev1.ConfigMap

	ctx    context.Context // of its watches, which outlive a call of Next
	from   *informer.ListWatch[*corev1.ConfigMap]
	cursor informer.Cursor

	mu     sync.Mutex // guards what follows
	watch  informer.Watch[*corev1.ConfigMap]
	closed bool
}

// Follow lists the ConfigMaps with a label selector, and watches from there. A
// nil recorder keeps the watch out of the timeline.
func (d *Demo) Follow(ctx context.Context, namespace, selector string, recorder *trace.Recorder) (*Follower, error) {
	return follow(ctx, d.Config(), namespace, selector, recorder)
}

func follow(ctx context.Context, config *rest.Config, namespace, selector string, recorder *trace.Recorder) (*Follower, error) {
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{Namespace: namespace, LabelSelector: selector, Recorder: recorder})
	if err != nil {
		return nil, err
	}
	list, err := from.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	f := &Follower{Listed: list.Items, ctx: ctx, from: from, cursor: informer.Cursor{}.Listed(list.ResourceVersion)}
	f.watch, err = from.Watch(ctx, f.cursor.WatchOptions())
	return f, err
}

// Next waits for the next change. It passes over bookmarks. A server may end a
// watch in good order at any time; then it watches on from where it was.
func (f *Follower) Next(ctx context.Context) (informer.Event[*corev1.ConfigMap], error) {
	ctx, cancel := context.WithTimeoutCause(ctx, eventLimit, fmt.Errorf("no event came within %s", eventLimit))
	defer cancel()
	late := context.AfterFunc(ctx, f.wake)
	defer late()
	for {
		event, err := f.current().Next()
		if errors.Is(err, io.EOF) {
			if err = f.watchOn(ctx); err == nil {
				continue
			}
		}
		if err == nil {
			err = event.Err()
		}
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return event, err
		}
		var deliver bool
		if f.cursor, deliver = f.cursor.Saw(event.Type, event.ResourceVersion); deliver {
			return event, nil
		}
	}
}

// watchOn opens the next watch, where the last one ended.
func (f *Follower) watchOn(ctx context.Context) error {
	next, err := f.from.Watch(f.ctx, f.cursor.WatchOptions())
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch = next
	if f.closed || ctx.Err() != nil {
		_ = next.Close() // whoever closed the last one has not seen this one
	}
	return nil
}

func (f *Follower) current() informer.Watch[*corev1.ConfigMap] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watch
}

// wake makes Next return.
func (f *Follower) wake() { _ = f.current().Close() }

// Close ends the watch. It may be called from any goroutine, and wakes Next.
func (f *Follower) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.wake()
}

// Key names an object.
func Key(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// SplitKey is a key's namespace and name for the flight recorder.
func SplitKey(key types.NamespacedName) (namespace, name string) { return key.Namespace, key.Name }

// Create makes a ConfigMap with labels.
func (d *Demo) Create(ctx context.Context, key types.NamespacedName, labels map[string]string) error {
	_, err := d.Client.CoreV1().ConfigMaps(key.Namespace).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating ConfigMap %s: %w", key, err)
	}
	return nil
}

// Change sets a ConfigMap's data, whatever its state, and returns the
// resourceVersion of the change.
func (d *Demo) Change(ctx context.Context, key types.NamespacedName, field, value string) (version string, err error) {
	patch := []byte(`{"data":{` + strconv.Quote(field) + `:` + strconv.Quote(value) + `}}`)
	changed, err := d.Client.CoreV1().ConfigMaps(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return "", fmt.Errorf("changing ConfigMap %s: %w", key, err)
	}
	return changed.ResourceVersion, nil
}
