// Package fake is a client for unit tests that needs no cluster. It is the real client, on top of
// an API server in memory; so what a test sees is what a cluster would do: versions and conflicts,
// generations, finalizers, a status of its own, unknown fields, and the errors of all of them.
//
// A call becomes an HTTP request, as in production; the goroutine that makes the call also serves
// the request, in the server's rules and store, and decodes the answer. There is no port, no
// connection and no goroutine, and nothing to close. The exception is Watch, which has to be
// stopped, or its context cancelled, as everywhere else.
//
// Neighbours: it stands on package client and on internal/fakeapi. Above it are users' tests.
//
// # Guarantees
//
// Every kind of the scheme is served, and every unstructured one: a custom resource needs no
// definition. Namespaces need not be created. The same calls have the same answers, except for
// times, UIDs and generated names. A client works inside a testing/synctest bubble, and may be used
// by several goroutines.
//
// # Caveats
//
// Where controller-runtime's fake client believes everything, this one refuses what a cluster would
// refuse: a pod without containers, a namespaced object without a namespace, an owner reference
// without a UID, a label that's no label, a Service without ports, a new roleRef, a ConfigMap key
// with a space, a megabyte of data. Deeper in a spec it believes what it's given: a port of a
// container may be 99999. internal/fakeapi/differential plays all of this on both. What the builder puts into the cluster needs a name and
// the right kind of namespace, and is not validated otherwise.
//
// The cluster's behaviour is the default, because a test is there to find what would go wrong in a
// cluster: a reconciler that reads without a namespace, or takes an object for gone that a
// foreground deletion keeps, passes on controller-runtime's fake client and fails in production.
// Tests that were written for that client may rely on its behaviour, though, and many are right to:
// they test something else, with objects that are not complete. ClientBuilder.LikeControllerRuntime
// is for them.
//
// A custom resource has a status of its own only with WithStatusSubresource. If its definition in
// the cluster says so, and the test does not, an Update writes the status in the test and not in
// the cluster.
//
// Nobody else is there: no controller, no garbage collector, no scheduler, no kubelet. So a
// pod that is bound to a node stays when it is deleted, until the test deletes it with
// client.GracePeriodSeconds(0), as the kubelet does. Namespaces do go, and their content with them.
//
// Defaults are set as by a server, in objects of the builder, too; so compare fields, not objects.
//
// Whether a custom resource is in namespaces is seen from its first object, unless a RESTMapper
// says so. Versions of a kind are not converted: each has objects of its own.
package fake

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

// NewFakeClient returns a client of a cluster that holds the objects. Their kinds are those of
// Kubernetes itself.
func NewFakeClient(initObjs ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithRuntimeObjects(initObjs...).Build()
}

// ClientBuilder says what a client and its cluster are like. What is wrong with it is a mistake in
// a test, and makes Build panic.
type ClientBuilder struct {
	scheme              *runtime.Scheme
	mapper              meta.RESTMapper
	objects             []runtime.Object
	withStatus          []client.Object
	indexes             indexes
	interceptors        *interceptor.Funcs
	typeConverters      []managedfields.TypeConverter
	returnManagedFields bool
	likeOriginal        bool
	oneCounter          bool
	isBuilt             bool
}

// NewClientBuilder returns a builder of a client whose cluster is empty.
func NewClientBuilder() *ClientBuilder { return &ClientBuilder{} }

// WithScheme says which Go types there are. The default knows those of Kubernetes itself.
func (f *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	f.scheme = scheme
	return f
}

// WithRESTMapper is what Client.RESTMapper returns. It also says which resources custom kinds
// have, and whether they are in namespaces. A kind that it does not know is served all the same.
// The default knows all kinds of the scheme; in controller-runtime it knows none.
func (f *ClientBuilder) WithRESTMapper(restMapper meta.RESTMapper) *ClientBuilder {
	f.mapper = restMapper
	return f
}

// WithObjects puts objects into the cluster, as if they had been there for long: with their status,
// and with their deletionTimestamp if they have finalizers. They are not validated. What every
// stored object has is added: defaults, a UID, a generation, a creation timestamp, and
// resourceVersion 999.
//
// Build writes the resourceVersion and the UID into the object that was given, if it has none. So
// the test can update the object, and name it as an owner.
func (f *ClientBuilder) WithObjects(initObjs ...client.Object) *ClientBuilder {
	for _, obj := range initObjs {
		f.objects = append(f.objects, obj)
	}
	return f
}

// WithLists puts the items of lists into the cluster, as WithObjects does.
func (f *ClientBuilder) WithLists(initLists ...client.ObjectList) *ClientBuilder {
	for _, list := range initLists {
		f.objects = append(f.objects, list)
	}
	return f
}

// WithRuntimeObjects puts objects and lists into the cluster, as WithObjects does.
func (f *ClientBuilder) WithRuntimeObjects(initRuntimeObjs ...runtime.Object) *ClientBuilder {
	f.objects = append(f.objects, initRuntimeObjs...)
	return f
}

// WithGlobalResourceVersionCounter counts the versions of all objects together, as a cluster does.
// Only with LikeControllerRuntime does each object have a counter of its own otherwise.
func (f *ClientBuilder) WithGlobalResourceVersionCounter() *ClientBuilder {
	f.oneCounter = true
	return f
}

// WithIndex lets List select objects by a field, as after FieldIndexer.IndexField. The scheme must
// have been set before. An index that is there already makes it panic.
func (f *ClientBuilder) WithIndex(
	obj runtime.Object, field string, extractValue client.IndexerFunc,
) *ClientBuilder {
	s := f.scheme
	if s == nil {
		s = scheme.Scheme
	}
	gvk, err := apiutil.GVKForObject(obj, s)
	if err == nil {
		err = f.indexes.add(gvk, field, index{obj, extractValue})
	}
	if err != nil {
		panic(fmt.Sprintf("fake: WithIndex: %v", err))
	}
	return f
}

// WithStatusSubresource splits the status of custom resources from the rest: Update and Patch leave
// it as it is, and Client.Status changes nothing else. Built-in kinds are like that where
// they are in a cluster.
func (f *ClientBuilder) WithStatusSubresource(o ...client.Object) *ClientBuilder {
	f.withStatus = append(f.withStatus, o...)
	return f
}

// WithInterceptorFuncs puts functions in front of the client's methods. So a test can let a call
// fail.
func (f *ClientBuilder) WithInterceptorFuncs(interceptorFuncs interceptor.Funcs) *ClientBuilder {
	f.interceptors = &interceptorFuncs
	return f
}

// WithTypeConverters gives the schemas of custom resources to server-side apply; they are
// generated along with apply configurations. The first that knows a kind is used. For a kind that
// none knows, the schema is deduced: its lists are replaced, not merged. Built-in kinds need none.
func (f *ClientBuilder) WithTypeConverters(
	typeConverters ...managedfields.TypeConverter,
) *ClientBuilder {
	f.typeConverters = append(f.typeConverters, typeConverters...)
	return f
}

// WithReturnManagedFields shows who owns which fields. By default objects come without it.
func (f *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	f.returnManagedFields = true
	return f
}

// LikeControllerRuntime is for tests that were written for controller-runtime's fake client. The
// cluster then stores what it is given, as that client does:
//
//   - Nothing is validated, and nothing is set that the test did not set: no defaults, no UID, no
//     creation timestamp, no generation. What the test sets stays, and may change.
//   - An object is gone when it is deleted, unless it has finalizers: for every propagation policy,
//     for pods on nodes and for namespaces, whose content stays.
//   - A namespace is a part of the name. Any kind may be in one or in none. A Get without a name, or
//     without a namespace, finds nothing.
//   - Versions are counted for each object: 1 when it is created, 999 in the builder, and one more
//     with each write, even if nothing changes.
//   - A new object keeps its status. A write of the status changes nothing else, labels included.
//   - Lists come whole and carry no version. A watch begins with the next change.
//   - An eviction does not ask disruption budgets. Any subresource can be updated, which writes the
//     status.
//
// docs/porting.md lists what differs all the same.
func (f *ClientBuilder) LikeControllerRuntime() *ClientBuilder {
	f.likeOriginal = true
	return f
}
