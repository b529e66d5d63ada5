package fake

import (
	loopwright "github.com/loopwright/loopwright/manager/client/fake"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClientBuilder makes clients that behave as controller-runtime's do. The library's own are as strict
// as an API server, so a test that was written for controller-runtime may fail with them.
func NewClientBuilder() *ClientBuilder { return loopwright.NewClientBuilder().LikeControllerRuntime() }

// NewFakeClient returns a client of a cluster with these objects.
func NewFakeClient(initObjs ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithRuntimeObjects(initObjs...).Build()
}
