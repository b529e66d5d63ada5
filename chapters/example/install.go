package example

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/loopwright/loopwright/internal/demo"
)

//go:embed crd.yaml
var crd []byte

var crds = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// With installs the kind, runs f, and removes the kind and all Websites. An API server that
// serves the kind already, such as the in-memory one, keeps it.
func With(ctx context.Context, d *demo.Demo, f func(Websites) error) error {
	config := rest.CopyConfig(d.Config())
	config.QPS = -1 // the API server limits its clients
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("installing the kind Website: %w", err)
	}
	if served(ctx, client) {
		return f(Websites{client})
	}
	var definition unstructured.Unstructured
	if err := yaml.Unmarshal(crd, &definition.Object); err != nil {
		return fmt.Errorf("reading the CRD of Website: %w", err)
	}
	_, err = client.Resource(crds).Create(ctx, &definition, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("installing the kind Website: %w", err)
	}
	for !served(ctx, client) && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	err = f(Websites{client})
	if err == nil {
		d.Linger("websites")
	}
	return errors.Join(err, uninstall(ctx, client, definition.GetName()))
}

func served(ctx context.Context, client dynamic.Interface) bool {
	_, err := client.Resource(Resource).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil
}

// uninstall gets time of its own, because the program may have been interrupted. It waits until
// the kind is gone: the next program must not find one that is about to go.
func uninstall(ctx context.Context, client dynamic.Interface, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := client.Resource(crds).Delete(ctx, name, metav1.DeleteOptions{})
	for err == nil {
		time.Sleep(20 * time.Millisecond)
		_, err = client.Resource(crds).Get(ctx, name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("removing the kind Website: kubectl delete crd %s: %w", name, err)
}
