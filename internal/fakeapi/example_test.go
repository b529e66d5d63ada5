package fakeapi_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func Example() {
	server := fakeapi.New(fakeapi.Options{})
	defer server.Close()
	// The second update fails as if another client had been faster.
	server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Skip: 1, Times: 1, Status: fakeapi.Conflict()})

	client := kubernetes.NewForConfigOrDie(server.Config())
	maps, ctx := client.CoreV1().ConfigMaps("default"), context.Background()
	cm, _ := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	for _, color := range []string{"red", "green", "blue"} {
		cm.Data = map[string]string{"color": color}
		if updated, err := maps.Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
			fmt.Println(color, "was refused:", metav1.StatusReasonConflict)
		} else {
			cm = updated
		}
	}
	fmt.Println(cm.Data["color"])
	for _, r := range server.Requests(fakeapi.Match{Resource: "configmaps"}) {
		fmt.Println(r)
	}
	// Output:
	// green was refused: Conflict
	// blue
	// create configmaps in default
	// update configmaps default/settings
	// update configmaps default/settings
	// update configmaps default/settings
}
