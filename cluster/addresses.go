package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// firstPod is the name of the Pod that gets a new kwok's first address. It's deleted before Up
// returns the cluster.
const firstPod = "loopwright-first"

// forgottenAfter is how long the first Pod waits for its address until another one replaces it.
// kwok needs a fraction of a second.
const forgottenAfter = 10 * time.Second

var errNoAddress = errors.New("the first Pod has no address yet")

// checkAddresses makes a Pod, finds out whether it has an address, and removes it. kwok 0.8.0 makes
// its pool of addresses when the first Pod wants one. If two want one at that moment, it may make
// two pools, and give both Pods the same address: see ipPool in its
// pkg/kwok/controllers/pod_controller.go.
//
// kwok may also forget a Pod for good. It drops one whose patch fails, unless it repeats the patch,
// which it does for only five kinds of failure (shouldRetry in utils.go; a 500 and a broken
// connection aren't among them). It drops all Pods of a node if the list that follows the node's
// lease fails (podsOnNodeSyncWorker in controller.go). Only another event about the Pod would wake
// it. On a busy machine that happens, so the Pod is made again.
func checkAddresses(ctx context.Context, client kubernetes.Interface) error {
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	pod, err := pods.Get(ctx, firstPod, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return makeFirstPod(ctx, client)
	case err != nil:
		return fmt.Errorf("looking for the address of the first Pod: %w", err)
	case pod.Status.PodIP == "" && !isForgotten(pod):
		return errNoAddress
	}
	if err := pods.Delete(ctx, firstPod, *metav1.NewDeleteOptions(0)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the first Pod: %w", err)
	}
	if pod.Status.PodIP == "" {
		return errNoAddress
	}
	return nil
}

// isForgotten reports whether a Pod has waited for too long. Its times are the API server's, on the same machine.
func isForgotten(pod *corev1.Pod) bool {
	made := pod.CreationTimestamp
	return !made.IsZero() && time.Since(made.Time) > forgottenAfter
}

func makeFirstPod(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, ours)
	if err != nil || len(nodes.Items) == 0 {
		return errors.Join(errNoAddress, err)
	}
	_, err = client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: firstPod},
		Spec: corev1.PodSpec{
			NodeName:                     nodes.Items[0].Name, // without the scheduler, which may be missing
			AutomountServiceAccountToken: new(false),
			Containers:                   []corev1.Container{{Name: "main", Image: "none"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil // an existing cluster may have a quota, a policy or a webhook
	}
	return errNoAddress
}
