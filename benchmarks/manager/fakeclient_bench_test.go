package manager_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
	theirfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	ourclient "github.com/loopwright/loopwright/manager/client"
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

func BenchmarkFakeClientBuild(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			ourfake.NewClientBuilder().Build()
		}
	})
	b.Run("controller-runtime", func(b *testing.B) {
		for b.Loop() {
			theirfake.NewClientBuilder().Build()
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

func BenchmarkFakeClientUpdate(b *testing.B) {
	ctx := context.Background()
	update := func(b *testing.B, c interface {
		Update(context.Context, theirclient.Object, ...theirclient.UpdateOption) error
	}) {
		cm := newConfigMap()
		for b.Loop() {
			cm.Data["n"] += "x"
			if len(cm.Data["n"]) > 100 {
				cm.Data["n"] = ""
			}
			must(b, c.Update(ctx, cm))
		}
	}
	b.Run("ours", func(b *testing.B) {
		c := ourfake.NewFakeClient(newConfigMap())
		update(b, updater(func(ctx context.Context, obj ourclient.Object) error { return c.Update(ctx, obj) }))
	})
	b.Run("controller-runtime", func(b *testing.B) { update(b, theirfake.NewFakeClient(newConfigMap())) })
}

type updater func(ctx context.Context, obj ourclient.Object) error

func (u updater) Update(ctx context.Context, obj theirclient.Object, _ ...theirclient.UpdateOption) error {
	return u(ctx, obj)
}

var key = types.NamespacedName{Namespace: "default", Name: "a"}

func newConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string]string{"k": "v", "n": ""}}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
