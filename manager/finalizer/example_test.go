package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/finalizer"
)

// records are the DNS records that a controller has made.
type records map[string]bool

// Finalize removes the record of an object. There may be none.
func (r records) Finalize(_ context.Context, obj client.Object) (finalizer.Result, error) {
	if obj.GetAnnotations()["locked"] != "" {
		return finalizer.Result{}, errors.New("the record is locked")
	}
	delete(r, obj.GetName())
	return finalizer.Result{}, nil
}

func ExampleNewFinalizers() {
	all, dns := finalizer.NewFinalizers(), records{}
	if err := all.Register("shop.example/dns", dns); err != nil {
		panic(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	result, err := all.Finalize(context.Background(), service)
	fmt.Println("new:    ", service.Finalizers, result.Updated, err)
	dns["web"] = true // after the object has been written

	service.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	service.Annotations = map[string]string{"locked": "yes"}
	result, err = all.Finalize(context.Background(), service)
	fmt.Println("deleted:", service.Finalizers, result.Updated, err)
	service.Annotations = nil
	result, err = all.Finalize(context.Background(), service)
	fmt.Println("again:  ", service.Finalizers, result.Updated, err, dns)
	// Output:
	// new:     [shop.example/dns] true <nil>
	// deleted: [shop.example/dns] false the cleanup of the finalizer "shop.example/dns": the record is locked
	// again:   [] true <nil> map[]
}
