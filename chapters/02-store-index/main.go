// Command 02-store-index asks "which pods are on this node?" again and again while
// the answer changes.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() { demo.Main("Chapter 2: store and index", story) }

// region nodeOf

// nodeOf is the index function. A pod that no scheduler has seen yet has the
// value "", which is a question like any other.
func nodeOf(values []string, pod *corev1.Pod) []string {
	return append(values, pod.Spec.NodeName)
}

// endregion nodeOf

func appOf(values []string, pod *corev1.Pod) []string {
	return append(values, pod.Labels["app"])
}

type tour struct {
	*demo.Demo
	store  *informer.Store[*corev1.Pod]
	byNode *informer.Index[*corev1.Pod]
	feed   *feed
	nodes  []string   // where the pods are to go
	asked  [][]string // what was asked, for the table
}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("the demo took longer than 4 minutes"))
	defer cancel()

	store := informer.NewStore[*corev1.Pod](informer.StoreOptions{Recorder: d.Recorder, Kind: "Pod"})
	byNode, err := store.AddIndex("node", nodeOf)
	if err != nil {
		return err
	}
	feed, err := newFeed(d, store)
	if err != nil {
		return err
	}
	defer feed.close()
	t := &tour{Demo: d, store: store, byNode: byNode, feed: feed}
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. Six pods go to their nodes", t.fill},
		{"2. Which pods are on this node?", t.ask},
		{"3. A loop empties the node that it lists", t.drain},
		{"4. A relist in the middle of a loop", t.relist},
		{"5. An index that comes late", t.addIndex},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	d.Table("What was asked", append([][]string{{"question", "answer", "objects looked at", "of"}}, t.asked...)...)
	return nil
}

// fill makes pods and follows them until the scheduler has bound them.
func (t *tour) fill(ctx context.Context) error {
	nodes, err := t.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 2})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range nodes.Items {
		t.nodes = append(t.nodes, node.Name)
	}
	if err := t.feed.list(ctx); err != nil {
		return err
	}
	for i := range 6 {
		if err := t.create(ctx, fmt.Sprintf("web-%d", i), "web", t.nodes[i%len(t.nodes)]); err != nil {
			return err
		}
	}
	bound := func() bool { return t.store.Len() == 6 && t.byNode.Count("") == 0 }
	if err := t.feed.follow(ctx, bound); err != nil {
		return err
	}
	t.Say("A pod is added without a node, and moves in the index when kube-scheduler binds it.")
	return nil
}

// create makes a pod that fits only one node. The scheduler puts it there all the
// same.
func (t *tour) create(ctx context.Context, name, app, node string) error {
	_, err := t.Client.CoreV1().Pods(t.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Containers:   []corev1.Container{{Name: app, Image: t.Image}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating pod %s: %w", name, err)
	}
	return nil
}

func (t *tour) ask(context.Context) error {
	node := t.nodes[0]
	var found []string
	looked := 0
	for pod := range t.store.All() {
		looked++
		if pod.Spec.NodeName == node {
			found = append(found, pod.Name)
		}
	}
	t.Say("A walk through the store looks at %d pods to find %v.", looked, found)
	t.note("pods of a node, by a walk", found, looked)

	found = nil
	for pod := range t.byNode.Lookup(node) {
		found = append(found, pod.Name)
	}
	t.Say("The index looks at %d, and at %d if there are 10,000 others elsewhere.", len(found), len(found))
	t.note("pods of a node, by index", found, len(found))
	return nil
}

func (t *tour) note(question string, found []string, looked int) {
	slices.Sort(found)
	t.asked = append(t.asked, []string{question, strings.Join(found, " "), strconv.Itoa(looked), strconv.Itoa(t.store.Len())})
}

// region drain

// drain deletes the pods of a node in the loop that lists them. The store learns
// of each deletion before the loop goes on.
func (t *tour) drain(ctx context.Context) error {
	node := t.nodes[0]
	var seen []string
	for pod := range t.byNode.Lookup(node) {
		err := t.Client.CoreV1().Pods(t.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		if err != nil {
			return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
		}
		gone := func() bool { _, there := t.store.Get(informer.KeyOf(pod)); return !there }
		if err := t.feed.follow(ctx, gone); err != nil {
			return err
		}
		seen = append(seen, pod.Name)
	}
	t.Say("The loop saw %d pods, each once, though every turn took one out of the list.", len(seen))
	t.Say("A loop that begins now sees %d.", t.byNode.Count(node))
	t.note("the same, while they go", seen, len(seen))
	return nil
}

// endregion drain

// relist replaces the whole content of the store under a loop.
func (t *tour) relist(ctx context.Context) error {
	before, turn := []string{}, 0
	for pod := range t.store.All() {
		if turn++; turn == 1 {
			for i := range 2 {
				if err := t.create(ctx, fmt.Sprintf("db-%d", i), "db", t.nodes[0]); err != nil {
					return err
				}
			}
			if err := t.feed.list(ctx); err != nil {
				return err
			}
			t.Say("The loop has had its first turn. Two pods were made, and the store was replaced by a new list: %d pods.", t.store.Len())
		}
		before = append(before, pod.Name)
	}
	slices.Sort(before)
	t.Say("The loop has ended. It showed the old list: %v.", before)
	t.note("all pods, before a relist", before, len(before))
	var after []string
	for pod := range t.store.All() {
		after = append(after, pod.Name)
	}
	t.note("all pods, after it", after, len(after))
	return nil
}

// addIndex adds an index to a store that holds objects.
func (t *tour) addIndex(context.Context) error {
	byApp, err := t.store.AddIndex("app", appOf)
	if err != nil {
		return err
	}
	for _, app := range byApp.Values() {
		t.Say("app=%s has %d pods", app, byApp.Count(app))
	}
	var found []string
	for pod := range byApp.Lookup("db") {
		found = append(found, pod.Name)
	}
	t.note("pods of an app, by a late index", found, len(found))
	return nil
}
