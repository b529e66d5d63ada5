package manager_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	theirfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	ourfake "github.com/loopwright/loopwright/manager/client/fake"
)

// What a unit test costs: a client, an object, a look at it. The first test of a process pays for
// the schemas of the built-in kinds on both sides; it is not measured here.
func BenchmarkFakeClientForOneTest(b *testing.B) {
	ctx := context.Background()
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		must(b, ourfake.NewFakeClient().Create(ctx, newConfigMap()))
		for b.Loop() {
			c := ourfake.NewClientBuilder().Build()
			must(b, c.Create(ctx, newConfigMap()))
			must(b, c.Get(ctx, key, &corev1.ConfigMap{}))
		}
	})
	b.Run("controller-runtime", func(b *testing.B) {
		b.ReportAllocs()
		must(b, theirfake.NewFakeClient().Create(ctx, newConfigMap()))
		for b.Loop() {
			c := theirfake.NewClientBuilder().Build()
			must(b, c.Create(ctx, newConfigMap()))
			must(b, c.Get(ctx, key, &corev1.ConfigMap{}))
		}
	})
}

func BenchmarkFakeClientGet(b *testing.B) {
	ctx := context.Background()
	b.Run("ours", func(b *testing.B) {
		c := ourfake.NewFakeClient(newConfigMap())
		for b.Loop() {
			must(b, c.Get(ctx, key, &corev1.ConfigMap{}))
		}
	})
	b.Run("controller-runtime", func(b *testing.B) {
		c := theirfake.NewFakeClient(newConfigMap())
		for b.Loop() {
			must(b, c.Get(ctx, key, &corev1.ConfigMap{}))
		}
	})
}

var key = types.NamespacedName{Namespace: "default", Name: "a"}

func newConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string]string{"k": "v"}}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
