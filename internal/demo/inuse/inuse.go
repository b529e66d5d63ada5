// Package inuse is what the programs in the chapters' sections "In use" have in common: how
// they begin and end, and their job. A ConfigMap has the checksum of its data in an
// annotation.
//
// How a program finds out which ConfigMap needs it, and when, is its own, and is what its
// chapter is about. Package inusetest tests the programs.
package inuse

import (
	"context"
	"fmt"
	"hash/crc32"
	"log"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Main finds the cluster as kubectl does, and calls keep until Ctrl-C.
func Main(keep func(context.Context, *rest.Config) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromKubeconfigGetter("", clientcmd.NewDefaultClientConfigLoadingRules().Load)
	if err == nil {
		err = keep(ctx, config)
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// HasChecksum says whether the checksum is there, and right.
func HasChecksum(object *corev1.ConfigMap) bool {
	return object.Annotations["checksum"] == sum(object)
}

// WriteChecksum makes it right. It does nothing if it is, or if object is nil, which is how
// a cache returns a ConfigMap that is gone. Only a copy of the object is changed.
func WriteChecksum(ctx context.Context, client kubernetes.Interface, object *corev1.ConfigMap) error {
	if object == nil || HasChecksum(object) {
		return nil
	}
	object = object.DeepCopy()
	SetChecksum(object)
	_, err := client.CoreV1().ConfigMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("writing the checksum of %s/%s: %w", object.Namespace, object.Name, err)
	}
	return nil
}

// SetChecksum makes it right in the object, and writes nothing. It is for programs that have a client of
// their own.
func SetChecksum(object *corev1.ConfigMap) {
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, "checksum", sum(object))
}

func sum(object *corev1.ConfigMap) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, object.Data))) // fmt sorts the keys
}
