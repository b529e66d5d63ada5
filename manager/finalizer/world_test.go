package finalizer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
)

const (
	disk  = "shop.example/disk"
	dns   = "shop.example/dns"
	dns2  = "shop.example/dns2"
	alien = "bank.example/account"
)

var errDown = errors.New("the provider is down")

// cleanups are registered under their names, and note their calls.
type cleanups struct {
	Finalizers
	called []string
	// answers are what cleanups return; those that are not in it succeed.
	answers map[string]answer
	// during is called by each cleanup.
	during func(name string, obj client.Object)
}

type answer struct {
	result Result
	err    error
}

// register makes cleanups for these names, in this order.
func register(t *testing.T, names ...string) *cleanups {
	t.Helper()
	c := &cleanups{Finalizers: NewFinalizers(), answers: map[string]answer{}}
	for _, name := range names {
		require.NoError(t, c.Register(name,
			cleanupFunc(func(_ context.Context, obj client.Object) (Result, error) {
				c.called = append(c.called, name)
				if c.during != nil {
					c.during(name, obj)
				}
				return c.answers[name].result, c.answers[name].err
			})))
	}
	return c
}

type cleanupFunc func(context.Context, client.Object) (Result, error)

func (f cleanupFunc) Finalize(ctx context.Context, obj client.Object) (Result, error) {
	return f(ctx, obj)
}

func kept(finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web",
		Finalizers: finalizers}}
}

// deleted is an object that somebody has deleted.
func deleted(finalizers ...string) *corev1.ConfigMap {
	obj := kept(finalizers...)
	obj.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_700_000_000, 0)}
	return obj
}
