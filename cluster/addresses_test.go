package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Otherwise the first two Pods of a cluster may get one address.
func TestAPodOfTheClusterItselfGetsTheFirstAddressAndIsGone(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "down")
	call{dir: dir}.must(t, "up")
	pods := clientOf(t, dir).CoreV1().Pods(metav1.NamespaceAll)
	left, err := pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, left.Items)

	changes, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) // all that ever happened
	require.NoError(t, err)
	defer changes.Stop()
	for change := range changes.ResultChan() {
		pod, isPod := change.Object.(*corev1.Pod)
		require.True(t, isPod, "%v", change.Object)
		require.Equal(t, firstPod, pod.Name)
		if change.Type == watch.Deleted && pod.Status.PodIP != "" {
			return // one that kwok had forgotten may have been deleted before
		}
	}
	t.Fatal("no Pod was deleted that had an address")
}

// kwok forgets a Pod if a request of its own fails. Then a start took two minutes, and failed.
func TestAFirstPodThatKwokHasForgottenIsMadeAgain(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: firstPod, UID: "forgotten"}}
	client := fake.NewClientset(newNode("node-1"), pod)
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	for _, c := range []struct {
		age  time.Duration
		left types.UID
	}{{forgottenAfter / 2, "forgotten"}, {2 * forgottenAfter, ""}} {
		pod.CreationTimestamp = metav1.NewTime(time.Now().Add(-c.age))
		_, err := pods.Update(t.Context(), pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.ErrorIs(t, checkAddresses(t.Context(), client), errNoAddress)
		left, _ := pods.Get(t.Context(), firstPod, metav1.GetOptions{})
		require.Equal(t, c.left, left.UID, "after %s", c.age)
	}
	require.ErrorIs(t, checkAddresses(t.Context(), client), errNoAddress)
	again, err := pods.Get(t.Context(), firstPod, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, again.UID, "it's another one")
}

func TestTheFirstPodIsWaitedForAndRemoved(t *testing.T) {
	client := fake.NewClientset()
	require.ErrorIs(t, checkAddresses(t.Context(), client), errNoAddress, "there is no node yet")
	_, err := client.CoreV1().Nodes().Create(t.Context(), newNode("node-1"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, checkAddresses(t.Context(), client), errNoAddress, "it is made")
	require.ErrorIs(t, checkAddresses(t.Context(), client), errNoAddress, "it has no address")
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	pod, err := pods.Get(t.Context(), firstPod, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "node-1", pod.Spec.NodeName)
	pod.Status.PodIP = "10.0.0.1"
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, checkAddresses(t.Context(), client))
	_, err = pods.Get(t.Context(), firstPod, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	for _, action := range client.Actions() {
		if deletion, is := action.(clienttesting.DeleteAction); is {
			assert.Equal(t, *metav1.NewDeleteOptions(0), deletion.GetDeleteOptions(), "nobody waits for its end")
		}
	}
}

// A cluster whose API server does not answer is not ready.
func TestAFirstPodThatCannotBeReadIsAnError(t *testing.T) {
	client := fake.NewClientset(newNode("node-1"))
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("etcd is away"))
	})
	require.ErrorContains(t, checkAddresses(t.Context(), client), "looking for the address of the first Pod: ")
	require.Len(t, client.Actions(), 1, "and nothing else is asked")
}

// Another client may be quicker: then there is nothing left to do.
func TestAFirstPodThatSomebodyElseDeletesIsFine(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: firstPod}, Status: corev1.PodStatus{PodIP: "10.0.0.1"}}
	client := fake.NewClientset(pod)
	client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(corev1.Resource("pods"), firstPod)
	})
	require.NoError(t, checkAddresses(t.Context(), client))
}

// Or a webhook that does not serve: a cluster that is started again has what its user left in it.
func TestAClusterWithAQuotaStartsAllTheSame(t *testing.T) {
	client := fake.NewClientset(newNode("node-1"))
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), firstPod, errors.New("exceeded quota"))
	})
	require.NoError(t, checkAddresses(t.Context(), client))
}
