package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// liveReads shows what stands between a Go type and a URL.
func (s *stage) liveReads(ctx context.Context) error {
	if err := s.users.Create(ctx, &corev1.ConfigMap{ObjectMeta: s.meta("apple"), Data: map[string]string{"price": "3"}}); err != nil {
		return err
	}
	s.Show(onlyRequests)
	defer s.Show(nothing)
	live, err := client.New(s.config(), client.Options{Scheme: s.scheme})
	if err != nil {
		return err
	}
	s.Say("A new client has asked for nothing yet. It gets a ConfigMap:")
	if err := live.Get(ctx, s.key("apple"), &corev1.ConfigMap{}); err != nil {
		return err
	}
	s.Say("Then its metadata, and a list:")
	var none corev1.ConfigMapList
	if err := errors.Join(live.Get(ctx, s.key("apple"), s.metadataOf("ConfigMap")), live.List(ctx, &none, client.InNamespace(s.Namespace))); err != nil {
		return err
	}
	s.Say("It knows all kinds after the first question. One that is not there is asked for again:")
	err = live.Get(ctx, s.key("apple"), s.unstructuredStall("apple"))
	s.Say("  %v", err)
	s.row("1. a client without a cache", 4, s.traffic.since())
	return nil
}

// cachedReads shows how many watches there are.
func (s *stage) cachedReads(ctx context.Context) error {
	objects, c, err := s.open(ctx, s.config(), cache.Options{}, client.CacheOptions{Unstructured: true})
	if err != nil {
		return err
	}
	s.Show(onlyRequests)
	defer s.Show(nothing)
	if err := cache.WaitForSync(ctx, objects); err != nil {
		return err
	}
	s.Say("The cache runs and has no informer. A ConfigMap is read a thousand times:")
	if err := s.thousand(func() client.Object { return &corev1.ConfigMap{} }, c, ctx); err != nil {
		return err
	}
	s.row("2. ConfigMaps from a cache", 1000, s.traffic.since())
	s.Say("Only its metadata is wanted. The informer has that:")
	if err := s.thousand(func() client.Object { return s.metadataOf("ConfigMap") }, c, ctx); err != nil {
		return err
	}
	s.row("   their metadata", 1000, s.traffic.since())
	s.Say("As an unstructured object:")
	if err := s.thousand(func() client.Object { return s.unstructuredOf("ConfigMap") }, c, ctx); err != nil {
		return err
	}
	s.row("   unstructured", 1000, s.traffic.since())
	s.Say("A kind of which nothing but the metadata is wanted:")
	if err := c.List(ctx, s.metadataListOf("Secret")); err != nil {
		return err
	}
	s.row("   metadata of Secrets", 1, s.traffic.since())
	return nil
}

func (s *stage) thousand(object func() client.Object, c client.Client, ctx context.Context) error {
	for range 1000 {
		if err := c.Get(ctx, s.key("apple"), object()); err != nil {
			return err
		}
	}
	return nil
}

// index shows what the cache can find, and what not.
func (s *stage) index(ctx context.Context) error {
	for n := range 60 {
		fruit := []string{"apple", "banana", "cherry"}[n%3]
		seller := &corev1.ConfigMap{ObjectMeta: s.meta(fmt.Sprintf("seller-%02d", n)), Data: map[string]string{"sells": fruit}}
		if err := s.users.Create(ctx, seller); err != nil {
			return err
		}
	}
	objects, c, err := s.open(ctx, s.config(), cache.Options{}, client.CacheOptions{})
	if err != nil {
		return err
	}
	cherries := client.MatchingFields{"data.sells": "cherry"}
	s.Say("Sixty sellers. Who sells cherries? The server knows no such field:")
	s.Say("  %v", s.users.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(s.Namespace), cherries))
	s.Say("And the cache has no index:")
	s.Say("  %v", c.List(ctx, &corev1.ConfigMapList{}, cherries))
	if err := objects.IndexField(ctx, &corev1.ConfigMap{}, "data.sells", sells); err != nil {
		return err
	}
	var found corev1.ConfigMapList
	if err := c.List(ctx, &found, cherries); err != nil {
		return err
	}
	s.Say("With an index: %d of them.", len(found.Items))
	first := 0
	for _, err := range cache.All(ctx, objects, &corev1.ConfigMap{}, client.InNamespace(s.Namespace), cherries) {
		if err != nil {
			return err
		}
		first++
	}
	s.Say("The same without a copy, in a loop over the cache itself: %d.", first)
	s.row("6. sellers of cherries", 3, s.traffic.since())
	return nil
}

// region index

// sells has the values of the index. An object may have several, or none.
func sells(object client.Object) []string {
	if fruit, ok := object.(*corev1.ConfigMap).Data["sells"]; ok {
		return []string{fruit}
	}
	return nil
}

// endregion index

func (s *stage) metadataOf(kind string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
}

func (s *stage) metadataListOf(kind string) *metav1.PartialObjectMetadataList {
	return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind + "List"}}
}

func (s *stage) unstructuredOf(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind(kind)
	return object
}
