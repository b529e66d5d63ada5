// Command 08-rate-limiters shows what a queue does about failures: a ladder of
// longer and longer delays for each item, and a bucket of tokens for all.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

func main() { demo.Main("Chapter 8: rate limiters and the retrying queue", story) }

type key = types.NamespacedName

// yard is what the steps share: a ConfigMap is an order for a Pod, which runs as
// a ServiceAccount of the ConfigMap's choice.
type yard struct {
	*demo.Demo
	events *demo.Follower
	queue  *workqueue.RateLimitingQueue[key]
	failed map[string]int
	tried  map[string]int
}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	events, err := d.Follow(ctx, d.Namespace, "story=orders", nil)
	if err != nil {
		return err
	}
	defer events.Close()
	limiter := &workqueue.Exponential[key]{Base: 100 * time.Millisecond, Limit: time.Second}
	y := &yard{Demo: d, events: events, failed: map[string]int{}, tried: map[string]int{}, queue: workqueue.NewRateLimiting(limiter,
		workqueue.Options[key]{Recorder: d.Recorder, Key: demo.SplitKey, Kind: "ConfigMap"})}
	defer y.queue.ShutDown()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. A ladder", y.climb},
		{"2. Success ends it", y.succeed},
		{"3. A change overtakes it", y.overtake},
		{"4. Many fail at once", y.crowd},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	y.queue.ShutDown()
	rows := [][]string{{"Pod", "tries", "failures"}}
	for _, name := range []string{"web", "db"} {
		rows = append(rows, []string{name, strconv.Itoa(y.tried[name]), strconv.Itoa(y.failed[name])})
	}
	d.Table("What it took", rows...)
	return nil
}

// order writes which account the Pod should have, and adds the key.
func (y *yard) order(ctx context.Context, name, account string) error {
	k := key{Namespace: y.Namespace, Name: name}
	if y.tried[name] == 0 {
		if err := y.Create(ctx, k, map[string]string{"story": "orders"}); err != nil {
			return err
		}
		if _, err := y.events.Next(ctx); err != nil {
			return err
		}
	}
	if _, err := y.Change(ctx, k, "account", account); err != nil {
		return err
	}
	event, err := y.events.Next(ctx)
	if err == nil {
		y.queue.AddBecause(demo.Key(event.Object), string(event.Type))
	}
	return err
}

// region work

// work is one turn of a worker: try, and then either retry or forget; and Done.
func (y *yard) work(ctx context.Context) error {
	work, err := y.queue.Next(ctx)
	if err != nil {
		return err
	}
	defer y.queue.Done(work.Item)
	if err := y.create(ctx, work.Item); err != nil {
		y.queue.AddRateLimited(work.Item)
		return nil
	}
	y.queue.Forget(work.Item)
	return nil
}

// endregion work

// create makes the Pod that the order asks for.
func (y *yard) create(ctx context.Context, k key) error {
	y.tried[k.Name]++
	order, err := y.Client.CoreV1().ConfigMaps(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = y.Client.CoreV1().Pods(k.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: k.Name},
		Spec: corev1.PodSpec{
			ServiceAccountName: order.Data["account"],
			Containers:         []corev1.Container{{Name: "main", Image: y.Image}},
		},
	}, metav1.CreateOptions{})
	event := trace.Event{Kind: trace.Write, Outcome: trace.Succeeded, Layer: "worker", Op: "create", Object: "Pod", Namespace: k.Namespace, Name: k.Name}
	if err != nil {
		y.failed[k.Name]++
		event.Outcome, event.Reason = trace.Failed, fmt.Sprintf("no ServiceAccount %q", order.Data["account"])
	}
	y.Recorder.Record(event)
	return err
}

// account makes a ServiceAccount.
func (y *yard) account(ctx context.Context, name string) error {
	_, err := y.Client.CoreV1().ServiceAccounts(y.Namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making ServiceAccount %s: %w", name, err)
	}
	return nil
}

func (y *yard) climb(ctx context.Context) error {
	if err := y.order(ctx, "web", "builder"); err != nil {
		return err
	}
	for range 5 {
		if err := y.work(ctx); err != nil {
			return err
		}
	}
	web := key{Namespace: y.Namespace, Name: "web"}
	if y.queue.NumRequeues(web) != 5 {
		return fmt.Errorf("the Pod was to be refused five times, not %d", y.queue.NumRequeues(web))
	}
	y.Say("100 ms, 200, 400, 800, and then 1 s, which is the limit.")
	return nil
}

func (y *yard) succeed(ctx context.Context) error {
	if err := y.account(ctx, "builder"); err != nil {
		return err
	}
	y.Say("Somebody makes the ServiceAccount. No event tells us: nobody watches ServiceAccounts here.")
	if err := y.work(ctx); err != nil {
		return err
	}
	web := key{Namespace: y.Namespace, Name: "web"}
	y.Say("The next try succeeds. Failures that are remembered: %d.", y.queue.NumRequeues(web))
	return nil
}

func (y *yard) overtake(ctx context.Context) error {
	if err := y.order(ctx, "db", "typo"); err != nil {
		return err
	}
	for range 4 {
		if err := y.work(ctx); err != nil {
			return err
		}
	}
	y.Say("The next try is due in 800 ms. But now somebody corrects the order:")
	if err := errors.Join(y.order(ctx, "db", "builder"), y.work(ctx)); err != nil {
		return err
	}
	if y.failed["db"] != 4 || y.queue.Delayed() != 1 {
		return fmt.Errorf("the Pod was refused %d times, and %d alarms are left", y.failed["db"], y.queue.Delayed())
	}
	y.Say("A change is a reason to try at once. The retry is still to come: an Add does not end an alarm.")
	y.Say("It would do no harm. But nobody else has set an alarm for the db, so it can go. Cancelled: %t.",
		y.queue.Cancel(key{Namespace: y.Namespace, Name: "db"}))
	return nil
}

// crowd has six items fail at the same moment, with a bucket that holds three
// tokens and gets one every two seconds.
func (y *yard) crowd(context.Context) error {
	queue := workqueue.NewRateLimiting(workqueue.MaxOf[key]{
		&workqueue.Exponential[key]{Base: time.Second},
		workqueue.Bucket[key]{Limiter: rate.NewLimiter(0.5, 3)},
	}, workqueue.Options[key]{Name: "crowd", Recorder: y.Recorder, Key: demo.SplitKey, Kind: "ConfigMap"})
	defer queue.ShutDown()
	for _, name := range []string{"anna", "bert", "cora", "dora", "emil", "finn"} {
		queue.AddRateLimited(key{Namespace: y.Namespace, Name: name})
	}
	y.Say("Three found a token, and wait for their own ladder only. The others wait for tokens to come.")
	return nil
}
