package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// install makes the kind Discount. The demo's namespace owns the CRD: should the demo be killed, it
// goes with the namespace, which the next demo removes.
func (s *stage) install(ctx context.Context) error {
	namespace, err := s.Client.CoreV1().Namespaces().Get(ctx, s.Namespace, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("installing the kind Discount: %w", err)
	}
	kind := s.market.discountKind
	whatever := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	_, err = s.dynamic.Resource(crds).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crds.GroupVersion().String(), "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":            s.crd(),
			"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": namespace.Name, "uid": string(namespace.UID)}},
		},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced",
			"names":    map[string]any{"kind": kind.Kind, "plural": "discounts", "singular": "discount", "listKind": "DiscountList"},
			"versions": []any{map[string]any{"name": kind.Version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": whatever}}},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("installing the kind Discount: %w", err)
	}
	return nil
}

func (s *stage) crd() string { return "discounts." + s.market.discountKind.Group }

// uninstall gets time of its own, because the demo may have been interrupted.
func (s *stage) uninstall() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := s.dynamic.Resource(crds).Delete(ctx, s.crd(), metav1.DeleteOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("removing the kind Discount: kubectl delete crd %s: %w", s.crd(), err)
}

func (s *stage) discounts() dynamic.ResourceInterface {
	return s.dynamic.Resource(s.market.discountKind.GroupVersion().WithResource("discounts")).Namespace(s.Namespace)
}

// discountFor makes the demo's only Discount.
func (s *stage) discountFor(ctx context.Context, stall string) error {
	discount := s.market.newDiscount()
	discount.SetName("summer")
	discount.Object["spec"] = map[string]any{"stall": stall, "off": int64(1)}
	if _, err := s.discounts().Create(ctx, discount, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making a Discount: %w", err)
	}
	return nil
}

func (s *stage) moveDiscountTo(ctx context.Context, stall string) error {
	_, err := s.discounts().Patch(ctx, "summer", types.MergePatchType, []byte(`{"spec":{"stall":"`+stall+`"}}`), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("moving the Discount: %w", err)
	}
	return nil
}
