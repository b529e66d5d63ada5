package claims_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The text says that a function that resets a default writes in each look, and that no event follows.
func TestAFieldWithADefaultThatIsResetIsWrittenInEachLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{AnyNamespace: true})
		defer server.Close()
		c, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		versions := map[string]bool{}
		for _, want := range []controllerutil.OperationResult{"created", "updated", "updated"} {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			result, err := controllerutil.CreateOrUpdate(t.Context(), c, service, func() error {
				service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, want, result)
			require.Equal(t, corev1.ProtocolTCP, service.Spec.Ports[0].Protocol)
			versions[service.ResourceVersion] = true
		}
		require.Len(t, versions, 1)
	})
}

// The text says that the garbage collector looks for the UID, and in the namespace of the object.
func TestTheGarbageCollectorTakesAnObjectWhoseOwnerItDoesNotFind(t *testing.T) {
	clients := clustertest.Client(t)
	here, elsewhere := clustertest.Namespace(t), clustertest.Namespace(t)
	create := func(namespace, name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if owner != nil {
			object.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
		}
		made, err := clients.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
		return made
	}
	owner := create(here, "owner", nil)
	predecessor := owner.DeepCopy()
	predecessor.UID = "6c1d0d9e-0000-0000-0000-000000000000"
	kept := create(here, "kept", owner)
	for _, lost := range []*corev1.ConfigMap{create(elsewhere, "elsewhere", owner), create(here, "predecessor", predecessor)} {
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			_, err := clients.CoreV1().ConfigMaps(lost.Namespace).Get(context.Background(), lost.Name, metav1.GetOptions{})
			require.True(collect, apierrors.IsNotFound(err), "%s is still there", lost.Name)
		}, 2*time.Minute, 100*time.Millisecond)
	}
	_, err := clients.CoreV1().ConfigMaps(here).Get(t.Context(), kept.Name, metav1.GetOptions{})
	require.NoError(t, err)
}
