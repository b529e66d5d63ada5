package cache

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// A list of all has its room at once. One of a few among a hundred thousand must not take room for all of them.
func TestAListReservesRoomForWhatItReturnsAndNotForMore(t *testing.T) {
	all := map[string]Config{AllNamespaces: {}}
	two := map[string]Config{"default": {}, "shop": {}}
	for _, c := range []struct {
		namespaces map[string]Config
		of         client.ObjectList
		opts       []client.ListOption
		found      int
		reserved   bool
	}{
		{all, &corev1.ConfigMapList{}, nil, 14, true},
		{two, &corev1.ConfigMapList{}, nil, 14, true},
		{two, &corev1.ConfigMapList{}, []client.ListOption{client.InNamespace("shop")}, 3, true},
		{all, &corev1.ConfigMapList{}, []client.ListOption{client.InNamespace("shop")}, 3, false},
		{all, &corev1.ConfigMapList{}, []client.ListOption{client.MatchingLabels{"odd": "1"}}, 5, false},
		{all, &corev1.ConfigMapList{}, []client.ListOption{client.MatchingFields{"metadata.namespace": "shop"}}, 3, false},
		{all, &corev1.ConfigMapList{}, []client.ListOption{client.MatchingFields{"metadata.name": "1"}}, 2, false},
		{all, &corev1.ConfigMapList{}, []client.ListOption{client.MatchingFields{"metadata.name": "1"}, client.MatchingLabels{"odd": "1"}}, 1, false},
		{all, &corev1.ConfigMapList{}, []client.ListOption{client.Limit(1)}, 1, false},
		{all, &corev1.NamespaceList{}, []client.ListOption{client.InNamespace("ignored")}, 5, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			live, err := kubernetes.NewForConfig(server.Config())
			require.NoError(t, err)
			_, err = live.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
			require.NoError(t, err)
			for i := range 14 {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)}}
				if i < 10 {
					object.Labels = map[string]string{"odd": fmt.Sprint(i % 2)}
				}
				if i > 10 {
					object.Namespace, object.Name = "shop", fmt.Sprint(i-11)
				}
				_, err := live.CoreV1().ConfigMaps(object.Namespace).Create(t.Context(), object, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			made, err := New(server.Config(), Options{DefaultNamespaces: c.namespaces})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- made.Start(ctx) }()
			synctest.Wait()
			options := new(client.ListOptions).ApplyOptions(c.opts)
			v, err := made.(*objectCache).viewForRead(ctx, c.of, options.Namespace)
			require.NoError(t, err)
			q, err := v.newQuery(options)
			require.NoError(t, err)
			objects, _, err := q.collect(ctx)
			require.NoError(t, err)
			require.Len(t, objects, c.found)
			if what := fmt.Sprintf("%T %v %v", c.of, c.opts, c.namespaces); c.reserved {
				require.Equal(t, len(objects), cap(objects), what)
			} else {
				require.Less(t, cap(objects), 14, what)
			}
			stop()
			require.NoError(t, <-ended)
		})
	}
}
