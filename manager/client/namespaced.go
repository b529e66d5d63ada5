package client

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// NewNamespacedClient returns a client for one namespace. An object without a namespace gets this
// one; an object of another namespace is an error. Cluster-scoped kinds work as before.
func NewNamespacedClient(c Client, ns string) Client { return &namespacedClient{c, ns} }

type namespacedClient struct {
	Client
	namespace string
}

// errOther is the error for another namespace.
func (n *namespacedClient) errOther(namespace, name string) error {
	return fmt.Errorf("%s/%s: this client is for namespace %s", namespace, name, n.namespace)
}

// claim puts an object into the namespace.
func (n *namespacedClient) claim(obj Object) error {
	namespaced, err := n.IsObjectNamespaced(obj)
	if err != nil {
		return err
	}
	switch namespace := obj.GetNamespace(); {
	case namespace != "" && namespace != n.namespace:
		return n.errOther(namespace, obj.GetName())
	case namespaced:
		obj.SetNamespace(n.namespace)
	}
	return nil
}

// claimApplied does the same for a configuration that will be applied.
func (n *namespacedClient) claimApplied(obj runtime.ApplyConfiguration) error {
	a, err := describeApplied(obj)
	if err != nil {
		return err
	}
	namespaced, err := apiutil.IsGVKNamespaced(a.gvk, n.RESTMapper())
	switch {
	case err != nil:
		return err
	case !namespaced || a.key.Namespace == n.namespace:
		return nil
	case a.key.Namespace != "":
		return n.errOther(a.key.Namespace, a.key.Name)
	}
	if config, ok := obj.(*unstructuredApplyConfiguration); ok {
		config.SetNamespace(n.namespace)
		return nil
	}
	// Each type of configuration has a WithNamespace that returns this type, so there's no
	// interface for it.
	with := reflect.ValueOf(obj).MethodByName("WithNamespace")
	if !with.IsValid() || with.Type().NumIn() != 1 || with.Type().In(0).Kind() != reflect.String {
		return fmt.Errorf("a %T cannot be put into a namespace: it has no method "+
			"WithNamespace(string)", obj)
	}
	with.Call([]reflect.Value{reflect.ValueOf(n.namespace)})
	return nil
}

// Get implements Reader.
func (n *namespacedClient) Get(
	ctx context.Context, key ObjectKey, obj Object, opts ...GetOption,
) error {
	namespaced, err := n.IsObjectNamespaced(obj)
	switch {
	case err != nil:
		return err
	case namespaced && key.Namespace != "" && key.Namespace != n.namespace:
		return n.errOther(key.Namespace, key.Name)
	case namespaced:
		key.Namespace = n.namespace
	}
	return n.Client.Get(ctx, key, obj, opts...)
}

// List implements Reader. It overrides an option for another namespace.
func (n *namespacedClient) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	namespaced, err := n.IsObjectNamespaced(list)
	if err != nil {
		return err
	}
	if namespaced && n.namespace != "" {
		opts = append(opts[:len(opts):len(opts)], InNamespace(n.namespace))
	}
	return n.Client.List(ctx, list, opts...)
}

// Create implements Writer.
func (n *namespacedClient) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	if err := n.claim(obj); err != nil {
		return err
	}
	return n.Client.Create(ctx, obj, opts...)
}

// Update implements Writer.
func (n *namespacedClient) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	if err := n.claim(obj); err != nil {
		return err
	}
	return n.Client.Update(ctx, obj, opts...)
}

// Patch implements Writer.
func (n *namespacedClient) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...PatchOption,
) error {
	if err := n.claim(obj); err != nil {
		return err
	}
	return n.Client.Patch(ctx, obj, patch, opts...)
}

// Apply implements Writer.
func (n *namespacedClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption,
) error {
	if err := n.claimApplied(obj); err != nil {
		return err
	}
	return n.Client.Apply(ctx, obj, opts...)
}

// Delete implements Writer.
func (n *namespacedClient) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	if err := n.claim(obj); err != nil {
		return err
	}
	return n.Client.Delete(ctx, obj, opts...)
}

// DeleteAllOf implements Writer. It overrides an option for another namespace.
func (n *namespacedClient) DeleteAllOf(
	ctx context.Context, obj Object, opts ...DeleteAllOfOption,
) error {
	namespaced, err := n.IsObjectNamespaced(obj)
	if err != nil {
		return err
	}
	if namespaced {
		opts = append(opts[:len(opts):len(opts)], InNamespace(n.namespace))
	}
	return n.Client.DeleteAllOf(ctx, obj, opts...)
}

// Status implements StatusClient.
func (n *namespacedClient) Status() SubResourceWriter { return n.SubResource("status") }

// SubResource implements SubResourceClientConstructor.
func (n *namespacedClient) SubResource(subResource string) SubResourceClient {
	return &namespacedSubResource{n.Client.SubResource(subResource), n}
}

type namespacedSubResource struct {
	SubResourceClient
	client *namespacedClient
}

// Get implements SubResourceReader.
func (s *namespacedSubResource) Get(
	ctx context.Context, obj, subResource Object, opts ...SubResourceGetOption,
) error {
	if err := s.client.claim(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Get(ctx, obj, subResource, opts...)
}

// Create implements SubResourceWriter.
func (s *namespacedSubResource) Create(
	ctx context.Context, obj, subResource Object, opts ...SubResourceCreateOption,
) error {
	if err := s.client.claim(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Create(ctx, obj, subResource, opts...)
}

// Update implements SubResourceWriter.
func (s *namespacedSubResource) Update(
	ctx context.Context, obj Object, opts ...SubResourceUpdateOption,
) error {
	if err := s.client.claim(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Update(ctx, obj, opts...)
}

// Patch implements SubResourceWriter.
func (s *namespacedSubResource) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption,
) error {
	if err := s.client.claim(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Patch(ctx, obj, patch, opts...)
}

// Apply implements SubResourceWriter.
func (s *namespacedSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption,
) error {
	if err := s.client.claimApplied(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Apply(ctx, obj, opts...)
}
