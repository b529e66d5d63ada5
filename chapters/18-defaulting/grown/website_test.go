package grown

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/webhook"
)

// The chapter says that this is the same controller. So it has to do what users have asked for in
// chapters 8 to 15. The in-memory API server calls no webhooks, so the webhook server is off.
func TestTheWebsiteControllerDoesOnTheLibraryWhatItDidOnMini(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(fakeapi.Options{})
		defer api.Close()
		api.Register(fakeapi.Kind{ // without the Go type: the API server's schema is newer
			Group: example.Kind.Group, Version: example.Kind.Version, Kind: example.Kind.Kind, Status: true,
		})
		kubelet.Quick(t.Context(), api)
		ctx, stop := context.WithCancel(t.Context())
		cdn := website.NewCDN(t.Logf)
		m, err := New(api.Config(), ctrl.Options{
			LeaderElectionNamespace: "default", Metrics: server.Options{BindAddress: "0"},
			WebhookServer: webhook.NewServer(webhook.Options{Port: -1}), Logger: logr.Discard(),
		}, &Reconciler{CDN: cdn, Image: "web:1", Name: "a"})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- m.Start(ctx) }()
		c, err := client.New(api.Config(), client.Options{Scheme: example.NewScheme()})
		require.NoError(t, err)

		meta := metav1.ObjectMeta{Namespace: "default", Name: "shop"}
		shop := &example.Website{ObjectMeta: meta}
		file := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": "shop"},
			"spec":     map[string]any{"page": "home", "replicas": int64(2), "theme": "dark"},
		}}
		file.SetGroupVersionKind(example.Kind)
		require.NoError(t, c.Create(ctx, file))
		home := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"index.html": "Hello!"}}
		home.Name = "home"
		require.NoError(t, c.Create(ctx, home))
		time.Sleep(time.Minute)
		var pods corev1.PodList
		require.NoError(t, c.List(ctx, &pods))
		require.Len(t, pods.Items, 2, "the page came after the Website")
		require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(shop), shop))
		require.EqualValues(t, 2, shop.Status.Ready)
		require.NotEmpty(t, shop.Finalizers)
		require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(shop), file))
		theme, _, _ := unstructured.NestedString(file.Object, "spec", "theme")
		require.Equal(t, "dark", theme, "writing the finalizer has taken out a field that the Go type doesn't know")
		require.Equal(t, "Hello!", cdn.Shows(client.ObjectKeyFromObject(shop)))

		require.NoError(t, c.Delete(ctx, &pods.Items[0]))
		home.Data["index.html"] = "Sale!"
		require.NoError(t, c.Update(ctx, home))
		time.Sleep(time.Minute)
		require.NoError(t, c.List(ctx, &pods))
		require.Len(t, pods.Items, 2, "a Pod was deleted")
		require.Equal(t, "Sale!", cdn.Shows(client.ObjectKeyFromObject(shop)))

		require.NoError(t, c.Delete(ctx, shop))
		time.Sleep(time.Minute)
		require.Empty(t, cdn.Shows(client.ObjectKeyFromObject(shop)))
		require.True(t, apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(shop), shop)))
		stop()
		require.NoError(t, <-ended)
	})
}
