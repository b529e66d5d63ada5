package inusetest

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Show runs a program on an in-memory API server while a user creates a ConfigMap and
// changes it, and prints the checksums that the program writes. The examples in the
// packages' documentation call it.
func Show(keep Program) {
	server := fakeapi.New(fakeapi.Options{})
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop() // and do not wait: a program that sleeps for a second notices it later
	client := kubernetes.NewForConfigOrDie(server.Config())
	configMaps := client.CoreV1().ConfigMaps(namespace)
	// A replica before this one has released the lease. Without it, the first leader waits for its LeaseDuration, and whoever
	// runs the example waits, too.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "checksums"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("")}}
	if _, err := client.CoordinationV1().Leases(namespace).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	created, err := configMaps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "hello", Labels: map[string]string{"checked": "yes"}},
		Data:       map[string]string{"a": "1"},
	}, metav1.CreateOptions{})
	if err != nil {
		panic(err)
	}
	events, err := configMaps.Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	if err != nil {
		panic(err)
	}
	go func() {
		defer stop() // a program that ends too early must not leave the loop below waiting
		if err := keep(ctx, server.Config()); err != nil && ctx.Err() == nil {
			fmt.Println("the program ended with", err)
		}
	}()
	for event := range events.ResultChan() {
		object := event.Object.(*corev1.ConfigMap)
		if !inuse.HasChecksum(object) {
			continue
		}
		fmt.Println(object.Name, object.Data, "has the checksum", object.Annotations["checksum"])
		if object.Data["a"] == "2" {
			return
		}
		object.Data["a"] = "2"
		if _, err := configMaps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			panic(err)
		}
	}
}
