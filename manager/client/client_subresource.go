package client

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// StatusClient is a client that writes statuses.
type StatusClient interface {
	// Status returns what writes the status of objects, which is a subresource of most kinds: an
	// update of the object leaves its status as it was, and the other way round.
	Status() SubResourceWriter
}

// SubResourceClientConstructor is a client that reads and writes subresources.
type SubResourceClientConstructor interface {
	// SubResource returns what reads and writes one subresource of objects. Some have the form of
	// the object, such as "status". Others have one of their own, which is a second argument, or
	// an option:
	//
	//	c.SubResource("scale").Get(ctx, deployment, scale)
	//	c.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale))
	//	c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	//	c.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: node})
	//	c.SubResource("token").Create(ctx, serviceAccount, &authenticationv1.TokenRequest{})
	//	c.SubResource("approval").Update(ctx, certificateSigningRequest)
	SubResource(subResource string) SubResourceClient
}

// SubResourceReader reads a subresource.
type SubResourceReader interface {
	// Get reads the subresource of obj into subResource.
	Get(ctx context.Context, obj Object, subResource Object, opts ...SubResourceGetOption) error
}

// SubResourceWriter writes a subresource. What the server answers is stored in what was sent.
type SubResourceWriter interface {
	// Create posts subResource. For many subresources this is a request to do something, and
	// nothing that stays.
	Create(ctx context.Context, obj Object, subResource Object, opts ...SubResourceCreateOption) error
	// Update replaces the subresource by that part of obj, or by the body of WithSubResourceBody.
	Update(ctx context.Context, obj Object, opts ...SubResourceUpdateOption) error
	// Patch changes a part of the subresource.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption) error
	// Apply says which fields of the subresource the caller wants.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption) error
}

// SubResourceClient reads and writes a subresource.
type SubResourceClient interface {
	SubResourceReader
	SubResourceWriter
}

// StatusWriter is the older name of SubResourceWriter. Programs for controller-runtime use it.
type StatusWriter = SubResourceWriter
