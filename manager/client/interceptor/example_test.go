package interceptor_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

// The first update fails as if somebody else had been faster.
func ExampleNewClient() {
	server := fakeapi.New(fakeapi.Options{})
	defer server.Close()
	c, err := client.NewWithWatch(server.Config(), client.Options{})
	if err != nil {
		panic(err)
	}
	updates := 0
	c = interceptor.NewClient(c, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if updates++; updates == 1 {
				return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, obj.GetName(), nil)
			}
			return c.Update(ctx, obj, opts...)
		},
	})
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	fmt.Println(c.Create(context.Background(), obj))
	fmt.Println(apierrors.IsConflict(c.Update(context.Background(), obj)))
	fmt.Println(c.Update(context.Background(), obj))
	// Output:
	// <nil>
	// true
	// <nil>
}
