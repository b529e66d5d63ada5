package conditions_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/conditions"
)

// A controller has looked at two things, and writes what it has seen, with a summary.
func ExampleWrite() {
	ctx, service := context.Background(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	c := fake.NewClientBuilder().Build()
	if err := c.Create(ctx, service); err != nil {
		panic(err)
	}
	ready := conditions.Summary{Type: "Ready", Good: []string{"Published", "Resolvable"}}
	for range 2 {
		before, list := service.DeepCopy(), &service.Status.Conditions
		conditions.Set(service, list, metav1.Condition{
			Type: "Published", Status: metav1.ConditionTrue, Reason: "RecordMade",
		})
		conditions.Set(service, list, metav1.Condition{
			Type: "Resolvable", Status: metav1.ConditionFalse, Reason: "NoAnswer",
			Message: "the name server is silent",
		})
		conditions.Set(service, list, ready.Of(service, *list))
		fmt.Println(conditions.Write(ctx, c, before, service))
	}
	summary, _ := conditions.Get(service.Status.Conditions, "Ready")
	fmt.Println(summary.Status, summary.Reason, summary.Message)
	// Output:
	// true <nil>
	// false <nil>
	// False NoAnswer Resolvable: the name server is silent
}
