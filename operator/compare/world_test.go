package compare

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/loopwright/loopwright/internal/pki"
)

var (
	sites       = schema.GroupVersionResource{Group: "web.example.com", Version: "v1", Resource: "sites"}
	oldSites    = schema.GroupVersionResource{Group: "web.example.com", Version: "v1alpha1", Resource: "sites"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	leases      = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	eventsV1    = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	webhooks    = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
)

// installation is what an operator needs in a cluster before it starts.
type installation struct {
	client dynamic.Interface
	kinds  discovery.DiscoveryInterface
	root   string // of the operator's module
	front  *front
	ca     *pki.Pair
}

// certificates writes the certificate of the webhook server, for the address that the API server calls.
func (i *installation) certificates(dir string) error {
	server, err := i.ca.Server("webhooks", "127.0.0.1")
	if err != nil {
		return err
	}
	return server.Write(dir)
}

// install installs the CRD and the webhook configurations, as the operator's config/ has them, and returns a
// function that removes them.
func (i *installation) install(ctx context.Context) (remove func(context.Context) error, err error) {
	var made []func(context.Context) error
	remove = func(ctx context.Context) error {
		for _, one := range made {
			if err := one(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	for _, file := range []string{"crd/web.example.com_sites.yaml", "webhook/manifests.yaml"} {
		objects, err := readObjects(filepath.Join(i.root, "config", filepath.FromSlash(file)))
		if err != nil {
			return remove, err
		}
		for _, object := range objects {
			resource, err := i.point(object)
			if err != nil {
				return remove, err
			}
			client, name := i.client.Resource(resource), object.GetName()
			if _, err := client.Create(ctx, object, metav1.CreateOptions{}); err != nil {
				return remove, err
			}
			made = append(made, func(ctx context.Context) error { return gone(ctx, client, name) })
		}
	}
	return remove, poll(ctx, "the CRD to be established", func() error {
		if _, err := i.client.Resource(sites).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return err
		}
		return i.isDiscovered()
	})
}

// isDiscovered asks the two ways in which the API server says what it has. They are updated later than the server begins to
// serve a kind, and each by itself. An operator that starts too early ends, with either library.
func (i *installation) isDiscovered() error {
	if _, err := i.kinds.ServerResourcesForGroupVersion(sites.GroupVersion().String()); err != nil {
		return err
	}
	_, all, err := i.kinds.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.GroupVersion == sites.GroupVersion().String() {
			return nil
		}
	}
	return fmt.Errorf("%s is not discovered yet", sites.GroupVersion())
}

// gone deletes an object and waits until it is no longer there.
func gone(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return poll(ctx, name+" to be gone", func() error {
		_, err := client.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("%s is still there", name)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// point makes the API server call the front, where config/ names a Service, and returns the object's resource.
func (i *installation) point(object *unstructured.Unstructured) (schema.GroupVersionResource, error) {
	bundle := base64.StdEncoding.EncodeToString(i.ca.CertPEM)
	if object.GetKind() == "CustomResourceDefinition" {
		config := map[string]any{"url": "https://" + i.front.address() + "/convert", "caBundle": bundle}
		return definitions, unstructured.SetNestedMap(object.Object, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"clientConfig": config, "conversionReviewVersions": []any{"v1"}}}, "spec", "conversion")
	}
	list, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	for _, hook := range list {
		path, _, err := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "path")
		if err != nil {
			return schema.GroupVersionResource{}, err
		}
		hook.(map[string]any)["clientConfig"] = map[string]any{"url": "https://" + i.front.address() + path, "caBundle": bundle}
	}
	return webhooks.WithResource(strings.ToLower(object.GetKind()) + "s"), unstructured.SetNestedSlice(object.Object, list, "webhooks")
}

func readObjects(file string) (objects []*unstructured.Unstructured, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func secret(namespace, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "registrar", "namespace": namespace},
		"stringData": map[string]any{"token": value}}}
}

// oldSite is a site as old clients write it.
func oldSite(namespace, name, domain string, content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "web.example.com/v1alpha1", "kind": "Site", "metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{"domain": domain, "content": content}}}
}

// site has its pages in the order in which they are given: name, body, name, body.
func site(namespace, name, host string, pages ...string) *unstructured.Unstructured {
	var list []any
	for i := 0; i+1 < len(pages); i += 2 {
		list = append(list, map[string]any{"name": pages[i], "body": pages[i+1]})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "web.example.com/v1", "kind": "Site", "metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{"host": host, "pages": list}}}
}
