package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster"
)

// demoLabel is on every namespace that a demo makes.
const demoLabel = "loopwright.dev/demo"

// staleAfter is how old a namespace must be to be taken for one that an earlier
// demo left behind, on a cluster on which several demos may run at once.
const staleAfter = time.Hour

// makeNamespace makes the demo's namespace.
func (d *Demo) makeNamespace(ctx context.Context) error {
	made, err := d.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "demo-", Labels: map[string]string{demoLabel: ""},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making a namespace for the demo: %w", err)
	}
	d.Namespace = made.Name
	return nil
}

// cleanUp deletes the namespace. It gets time of its own, because the demo may
// have been interrupted.
func (d *Demo) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	if d.Namespace == "" {
		return nil
	}
	if err := d.deleteNamespace(ctx, d.Namespace); err != nil {
		return fmt.Errorf("the namespace %s is left over: the next demo removes it, or when the cluster is back, kubectl delete namespace %[1]s: %[2]w", d.Namespace, err)
	}
	return nil
}

func (d *Demo) deleteNamespace(ctx context.Context, name string) error {
	err := d.Client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// sweep deletes what earlier demos left behind: one that was killed, or whose API
// server was away when it ended. It needs to be the only demo on an embedded cluster.
func (d *Demo) sweep(ctx context.Context) error {
	list, err := d.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: demoLabel})
	if err != nil {
		return fmt.Errorf("looking for what earlier demos left behind: %w", err)
	}
	var stale []string
	for _, namespace := range list.Items {
		old := d.Cluster.Mode == cluster.Embedded || time.Since(namespace.CreationTimestamp.Time) > staleAfter
		if !old || namespace.DeletionTimestamp != nil {
			continue
		}
		if err := d.deleteNamespace(ctx, namespace.Name); err != nil {
			return fmt.Errorf("deleting the namespace %s, which an earlier demo left behind: %w", namespace.Name, err)
		}
		stale = append(stale, namespace.Name)
	}
	if len(stale) > 0 {
		d.print("Removing what an earlier demo left behind: " + strings.Join(stale, ", ") + "\n")
	}
	return nil
}
