package ages

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestAnOldOneIsLabelled(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration
		want string
	}{"old": {2 * time.Hour, "old"}, "young": {time.Minute, ""}} {
		t.Run(name, func(t *testing.T) {
			// Its Pod isn't complete, which the fake client of the original accepts.
			c := fake.NewClientBuilder().WithObjects(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}},
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: "c", Namespace: "n", CreationTimestamp: metav1.NewTime(now.Add(-test.age))}}).Build()
			r := &Reconciler{Client: c, Now: func() time.Time { return now }}
			key := client.ObjectKey{Namespace: "n", Name: "c"}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			var config corev1.ConfigMap
			if err := c.Get(t.Context(), key, &config); err != nil {
				t.Fatal(err)
			}
			if config.Labels["age"] != test.want {
				t.Errorf("%q", config.Labels)
			}
		})
	}
}
