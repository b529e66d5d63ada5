package komega

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

func named(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func server() client.Client {
	web := named("web")
	web.Spec.Replicas = new(int32(5))
	return fake.NewClientBuilder().WithObjects(web).WithStatusSubresource(web).LikeControllerRuntime().Build()
}

// each runs a test with the methods of a Komega, and with the functions of the package.
func each(t *testing.T, test func(t *testing.T, k Komega, users client.Client)) {
	t.Run("methods", func(t *testing.T) {
		c := server()
		test(t, New(c), c)
	})
	t.Run("functions", func(t *testing.T) {
		before := shared
		t.Cleanup(func() { shared = before })
		c := server()
		SetClient(c)
		test(t, functions{}, c)
	})
}

// functions are those of the package.
type functions struct{ Komega }

func (functions) Get(o client.Object) func() error { return Get(o) }
func (functions) List(l client.ObjectList, opts ...client.ListOption) func() error {
	return List(l, opts...)
}
func (functions) Object(o client.Object) func() (client.Object, error) { return Object(o) }
func (functions) ObjectList(
	l client.ObjectList, opts ...client.ListOption,
) func() (client.ObjectList, error) {
	return ObjectList(l, opts...)
}
func (functions) Update(o client.Object, f func(), opts ...client.UpdateOption) func() error {
	return Update(o, f, opts...)
}
func (functions) UpdateStatus(
	o client.Object, f func(), opts ...client.SubResourceUpdateOption,
) func() error {
	return UpdateStatus(o, f, opts...)
}

// A test that waits calls the same function again and again. It must ask each time.
func TestAFunctionAsksEachTimeItIsCalled(t *testing.T) {
	each(t, func(t *testing.T, k Komega, users client.Client) {
		late := named("late")
		get, object := k.Get(late), k.Object(late)
		require.True(t, apierrors.IsNotFound(get()))
		require.NoError(t, users.Create(t.Context(), named("late")))
		require.NoError(t, get())
		found, err := object()
		require.NoError(t, err)
		require.Equal(t, "late", found.GetName())

		var all appsv1.DeploymentList
		list, objects := k.List(&all, client.InNamespace("default")), k.ObjectList(&all)
		require.NoError(t, list())
		require.Len(t, all.Items, 2)
		require.NoError(t, users.Delete(t.Context(), late))
		again, err := objects()
		require.NoError(t, err)
		require.Len(t, again.(*appsv1.DeploymentList).Items, 1)
	})
}

func TestAnUpdateChangesWhatIsThereNow(t *testing.T) {
	each(t, func(t *testing.T, k Komega, users client.Client) {
		web := named("web")
		update := k.Update(web, func() { *web.Spec.Replicas++ })
		require.NoError(t, update())
		require.NoError(t, update(),
			"an object that was read before leads to a conflict, unless it is read again")
		require.NoError(t, k.UpdateStatus(web, func() { web.Status.Replicas = 3 })())
		found := named("web")
		require.NoError(t, users.Get(t.Context(), client.ObjectKeyFromObject(web), found))
		require.EqualValues(t, 7, *found.Spec.Replicas)
		require.EqualValues(t, 3, found.Status.Replicas)
		require.True(t, apierrors.IsNotFound(k.Update(named("none"), func() {
			t.Error("changed what is not there")
		})()))
	})
}

func TestRequestsEndWithTheContext(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	k := New(asking{Client: server()})
	require.NoError(t, k.Get(named("web"))())
	require.ErrorIs(t, k.WithContext(ended).Get(named("web"))(), context.Canceled)
	require.NoError(t, k.Get(named("web"))(),
		"WithContext has changed the Komega that it was called on")

	before := shared
	defer func() { shared = before }()
	SetClient(asking{Client: server()})
	SetContext(ended)
	require.ErrorIs(t, Get(named("web"))(), context.Canceled)
}

// asking is a client that looks at the context.
type asking struct{ client.Client }

func (a asking) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.Client.Get(ctx, key, obj, opts...)
}

func TestWithoutAClientTheFunctionsSayWhatIsMissing(t *testing.T) {
	before := shared
	defer func() { shared = before }()
	shared.client = nil
	require.PanicsWithValue(t,
		"komega does not know whom to ask: call komega.SetClient before the tests run, or use "+
			"komega.New",
		func() { Get(named("web")) })
}
