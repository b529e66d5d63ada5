package example

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Websites is a client for Websites: client-go's clientset has methods for the built-in kinds
// only. Chapter 10 writes a client that knows all kinds of a scheme.
type Websites struct{ client dynamic.Interface }

// Create stores a new Website.
func (w Websites) Create(ctx context.Context, site *Website) error {
	obj, err := unstructuredOf(site)
	if err != nil {
		return err
	}
	_, err = w.in(site.Namespace).Create(ctx, obj, metav1.CreateOptions{})
	return err
}

// Patch changes a part of a Website, as kubectl patch does.
func (w Websites) Patch(ctx context.Context, namespace, name, patch string) error {
	_, err := w.in(namespace).Patch(
		ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// UpdateStatus replaces the status.
func (w Websites) UpdateStatus(ctx context.Context, site *Website) error {
	obj, err := unstructuredOf(site)
	if err != nil {
		return err
	}
	_, err = w.in(site.Namespace).UpdateStatus(ctx, obj, metav1.UpdateOptions{})
	return err
}

// Delete deletes a Website.
func (w Websites) Delete(ctx context.Context, namespace, name string) error {
	return w.in(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// Get reads a Website from the API server.
func (w Websites) Get(ctx context.Context, namespace, name string) (*Website, error) {
	obj, err := w.in(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	site := &Website{}
	return site, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, site)
}

// List reads all Websites of a namespace from the API server.
func (w Websites) List(ctx context.Context, namespace string) ([]*Website, error) {
	list, err := w.in(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make([]*Website, len(list.Items))
	for i, obj := range list.Items {
		all[i] = &Website{}
		err = errors.Join(err, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, all[i]))
	}
	return all, err
}

func (w Websites) in(namespace string) dynamic.ResourceInterface {
	return w.client.Resource(Resource).Namespace(namespace)
}

func unstructuredOf(site *Website) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(site)
	if err != nil {
		return nil, fmt.Errorf("converting Website %s: %w", site.Name, err)
	}
	obj := &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(Kind)
	return obj, nil
}
