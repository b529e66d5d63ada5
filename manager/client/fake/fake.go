// Package fake is a client for unit tests that needs no cluster. It's the real client, on top of an
// API server in memory. So a test sees what a cluster would do: versions and conflicts,
// generations, finalizers, a separate status, unknown fields, and the errors of all of them.
//
// A call becomes an HTTP request, as in production. The goroutine that makes the call also serves
// the request, with the server's rules and store, and decodes the answer. There's no port, no
// connection and no goroutine, so there's nothing to close. The exception is Watch: as everywhere
// else, stop it or cancel its context.
//
// Neighbours: below it are package client and internal/fakeapi. Above it are users' tests.
//
// # Guarantees
//
// Every kind of the scheme is served, and every unstructured one: a custom resource needs no
// definition. You don't have to create namespaces. The same calls have the same answers, except for
// times, UIDs and generated names. A client works inside a testing/synctest bubble, and may be used
// by several goroutines.
//
// # Caveats
//
// controller-runtime's fake client accepts everything. This one refuses what a cluster would
// refuse: a Pod without containers, a namespaced object without a namespace, an owner reference
// without a UID, an invalid label, a Service without ports, a new roleRef, a ConfigMap key with a
// space, a megabyte of data. Deeper in a spec it accepts anything: a container's port may be 99999.
// internal/fakeapi/differential runs all of this on both. The builder's objects need a name and the
// right kind of namespace, and aren't validated otherwise.
//
// The cluster's behaviour is the default, because a test should find what would go wrong in a
// cluster. For example, a reconciler may read without a namespace, or take an object for deleted
// that a foreground deletion keeps: it passes on controller-runtime's fake client and fails in
// production. But tests that were written for that client may rely on its behaviour, and many are
// right to: they test something else, with incomplete objects. Use
// ClientBuilder.LikeControllerRuntime for them.
//
// A custom resource has a separate status only with WithStatusSubresource. If its definition in the
// cluster has one and the test doesn't, an Update writes the status in the test but not in the
// cluster.
//
// The client is alone in its cluster: there's no controller, no garbage collector, no scheduler and
// no kubelet. So when you delete a Pod that is bound to a node, it stays until the test deletes it
// with client.GracePeriodSeconds(0), as the kubelet does. Namespaces are deleted, together with
// their content.
//
// Defaults are set as on a server, even in the builder's objects. So compare fields, not objects.
//
// Whether a custom resource is namespaced depends on its first object, unless a RESTMapper says so.
// Versions of a kind aren't converted: each has its own objects.
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

// NewFakeClient returns a client of a cluster with these objects. Their kinds must be those of
// Kubernetes itself.
func NewFakeClient(initObjs ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithRuntimeObjects(initObjs...).Build()
}

// ClientBuilder says what a client and its cluster are like. If it's wrong, that's a mistake in a
// test, so Build panics.
type ClientBuilder struct {
	scheme              *runtime.Scheme
	mapper              meta.RESTMapper
	objects             []runtime.Object
	lists               []runtime.Object
	others              []runtime.Object
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

// WithScheme sets the Go types. The default has those of Kubernetes itself.
func (f *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	f.scheme = scheme
	return f
}

// WithRESTMapper sets the result of Client.RESTMapper. It also says which resources custom kinds
// have, and whether they're namespaced. A kind that it doesn't know is served all the same. The
// default knows all kinds of the scheme; in controller-runtime it knows none.
func (f *ClientBuilder) WithRESTMapper(restMapper meta.RESTMapper) *ClientBuilder {
	f.mapper = restMapper
	return f
}

// WithObjects puts objects into the cluster, as if they had been there for a while: with their
// status, and with their deletionTimestamp if they have finalizers. They aren't validated. They get
// what every stored object has: defaults, a UID, a generation, a creation timestamp, and
// resourceVersion 999.
//
// Build writes the resourceVersion and the UID into your object, if it has none. So the test can
// update the object, and name it as an owner.
func (f *ClientBuilder) WithObjects(initObjs ...client.Object) *ClientBuilder {
	for _, obj := range initObjs {
		f.objects = append(f.objects, obj)
	}
	return f
}

// WithLists puts the items of lists into the cluster, as WithObjects does.
func (f *ClientBuilder) WithLists(initLists ...client.ObjectList) *ClientBuilder {
	for _, list := range initLists {
		f.lists = append(f.lists, list)
	}
	return f
}

// WithRuntimeObjects puts objects and lists into the cluster, as WithObjects does.
func (f *ClientBuilder) WithRuntimeObjects(initRuntimeObjs ...runtime.Object) *ClientBuilder {
	f.others = append(f.others, initRuntimeObjs...)
	return f
}

// WithGlobalResourceVersionCounter counts the versions of all objects together, as a cluster does.
// It only makes a difference with LikeControllerRuntime, where each object otherwise has its own
// counter. The counter starts with the builder's objects.
func (f *ClientBuilder) WithGlobalResourceVersionCounter() *ClientBuilder {
	f.oneCounter = true
	return f
}

// WithIndex lets List select objects by a field, as after FieldIndexer.IndexField. Set the scheme
// first. If the index already exists, it panics.
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

// WithStatusSubresource separates the status of custom resources from the rest: Update and Patch
// leave it alone, and Client.Status changes nothing else. Built-in kinds work as in a cluster.
func (f *ClientBuilder) WithStatusSubresource(o ...client.Object) *ClientBuilder {
	f.withStatus = append(f.withStatus, o...)
	return f
}

// WithInterceptorFuncs puts functions in front of the client's methods, so a test can make a call
// fail.
func (f *ClientBuilder) WithInterceptorFuncs(interceptorFuncs interceptor.Funcs) *ClientBuilder {
	f.interceptors = &interceptorFuncs
	return f
}

// WithTypeConverters gives the schemas of custom resources to server-side apply; they're generated
// along with apply configurations. The first one that knows a kind is used. If none does, the
// schema is deduced: lists are replaced, not merged. Built-in kinds need none.
func (f *ClientBuilder) WithTypeConverters(
	typeConverters ...managedfields.TypeConverter,
) *ClientBuilder {
	f.typeConverters = append(f.typeConverters, typeConverters...)
	return f
}

// WithReturnManagedFields returns objects with their managedFields. By default they're left out.
func (f *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	f.returnManagedFields = true
	return f
}

// LikeControllerRuntime is for tests that were written for controller-runtime's fake client.
// There's no server: the client keeps the Go objects that you give it, and does exactly what that
// client does with them. A test that passes there passes here.
//
//   - Nothing is validated, and only the test sets fields: there are no defaults, no UID, no
//     creation timestamp and no generation. What the test sets stays, and may change.
//   - A deleted object disappears at once, unless it has finalizers: for every propagation policy,
//     for Pods on nodes and for namespaces, whose content stays.
//   - A namespace is a part of the name. Any kind may have one or not. A Get without a name, or
//     without a namespace, finds nothing.
//   - Versions are counted for each object: 1 when it's created, 999 in the builder, and one more
//     with each write, even if nothing changes.
//   - A new object keeps its status. A write of the status changes nothing else, labels included.
//   - Lists are complete and have no version. A watch begins with the next change, and ignores
//     selectors.
//   - An eviction ignores disruption budgets. Any subresource can be updated, which writes the
//     status. A dry run does nothing, and an Apply ignores DryRunAll.
//   - An empty map in the caller's object stays one, and a failed write may have changed the
//     object.
//   - The context of a call may have ended. The RESTMapper only knows the kinds of the one it was
//     given.
//
// docs/porting.md has the two differences that remain.
func (f *ClientBuilder) LikeControllerRuntime() *ClientBuilder {
	f.likeOriginal = true
	return f
}
