package originals

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// kinds is what the API server's discovery said last. In kube-controller-manager, the garbage collector's
// RESTMapper asks the API server while it holds a lock, and others wait for the lock. A goroutine that
// waits for a lock stops the clock of a bubble, so the answer would never arrive. Here, startGarbage
// asks beforehand. If the API server doesn't answer, the kinds stay as they were, which is kinder than the
// original: it would know none until the next answer.
type kinds struct {
	discovery.CachedDiscoveryInterface // for the methods that aren't called
	last                               atomic.Pointer[answer]
}

type answer struct {
	groups    []*metav1.APIGroup
	resources []*metav1.APIResourceList
}

// ask asks the API server.
func (k *kinds) ask(server discovery.DiscoveryInterface) error {
	groups, resources, err := server.ServerGroupsAndResources()
	if err == nil {
		k.last.Store(&answer{groups, resources})
	}
	return err
}

// ServerGroupsAndResources implements discovery.CachedDiscoveryInterface.
func (k *kinds) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	last := k.last.Load()
	return last.groups, last.resources, nil
}

// Fresh implements discovery.CachedDiscoveryInterface.
func (k *kinds) Fresh() bool { return true }

// Invalidate implements discovery.CachedDiscoveryInterface.
func (k *kinds) Invalidate() {}
