package interceptor

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/client"
)

// inWorld runs a test with a client of an in-memory API server.
func inWorld(t *testing.T, test func(t *testing.T, server *fakeapi.Server, c client.WithWatch)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		c, err := client.NewWithWatch(server.Config(), client.Options{})
		require.NoError(t, err)
		test(t, server, c)
	})
}

var key = client.ObjectKey{Namespace: "default", Name: "a"}

func configMap() *corev1.ConfigMap {
	obj := &corev1.ConfigMap{}
	obj.Namespace, obj.Name = key.Namespace, key.Name
	return obj
}

// calls are all that a client can do. The names are those of the functions that stand in front.
func calls(ctx context.Context, c client.WithWatch) map[string]func() error {
	patch := client.RawPatch(types.MergePatchType, []byte("{}"))
	return map[string]func() error{
		"Get":         func() error { return c.Get(ctx, key, configMap()) },
		"List":        func() error { return c.List(ctx, &corev1.ConfigMapList{}) },
		"Create":      func() error { return c.Create(ctx, configMap()) },
		"Delete":      func() error { return c.Delete(ctx, configMap()) },
		"DeleteAllOf": func() error { return c.DeleteAllOf(ctx, configMap()) },
		"Update":      func() error { return c.Update(ctx, configMap()) },
		"Patch":       func() error { return c.Patch(ctx, configMap(), patch) },
		"Apply":       func() error { return c.Apply(ctx, coreapply.ConfigMap(key.Name, key.Namespace)) },
		"Watch": func() error {
			watching, err := c.Watch(ctx, &corev1.ConfigMapList{})
			if err == nil {
				watching.Stop()
			}
			return err
		},
		"SubResourceGet":    func() error { return c.SubResource("scale").Get(ctx, configMap(), &autoscalingv1.Scale{}) },
		"SubResourceCreate": func() error { return c.SubResource("scale").Create(ctx, configMap(), &autoscalingv1.Scale{}) },
		"SubResourceUpdate": func() error { return c.SubResource("scale").Update(ctx, configMap()) },
		"SubResourcePatch":  func() error { return c.SubResource("scale").Patch(ctx, configMap(), patch) },
		"SubResourceApply":  func() error { return c.SubResource("scale").Apply(ctx, appsapply.Deployment("a", "default")) },
	}
}

var errIntercepted = errors.New("intercepted")

// only returns functions of which one is there. It checks that it is given the client behind it, and
// returns an error.
func only(t *testing.T, name string, behind client.WithWatch) Funcs {
	var funcs Funcs
	field := reflect.ValueOf(&funcs).Elem().FieldByName(name)
	field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
		require.Same(t, behind, args[1].Interface(), "%s must get the client behind it, so that it can call it", name)
		if strings.HasPrefix(name, "SubResource") {
			require.Equal(t, "scale", args[2].Interface(), name)
		}
		result := []reflect.Value{reflect.ValueOf(&errIntercepted).Elem()}
		if field.Type().NumOut() == 2 {
			result = slices.Insert(result, 0, reflect.Zero(field.Type().Out(0)))
		}
		return result
	}))
	return funcs
}

func TestAFunctionStandsInFrontOfItsMethodAndNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, server *fakeapi.Server, c client.WithWatch) {
		all := calls(t.Context(), c)
		for name := range inorder.Map(all) {
			server.ForgetRequests()
			intercepted := NewClient(c, only(t, name, c))
			for other, call := range inorder.Map(calls(t.Context(), intercepted)) {
				err := call()
				require.Equal(t, name == other, err == errIntercepted, "function %s, method %s: %v", name, other, err)
			}
			asked := slices.DeleteFunc(server.Requests(fakeapi.Match{}), func(r fakeapi.Request) bool { return r.Resource == "" })
			require.Len(t, asked, len(all)-1, "all other calls go to the server")
		}
	})
}

func TestWithoutFunctionsAllGoesToTheClientBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, server *fakeapi.Server, c client.WithWatch) {
		intercepted := NewClient(c, Funcs{})
		require.NoError(t, intercepted.Create(t.Context(), configMap()))
		require.NoError(t, c.Get(t.Context(), key, configMap()))
		require.Same(t, c.Scheme(), intercepted.Scheme())
		require.Equal(t, c.RESTMapper(), intercepted.RESTMapper())
		require.Same(t, c, intercepted.(interface{ Unwrap() client.WithWatch }).Unwrap())
	})
}

// A status is a subresource like the others, so that one function sees all of them.
func TestStatusesAreSeenAsSubresources(t *testing.T) {
	inWorld(t, func(t *testing.T, server *fakeapi.Server, c client.WithWatch) {
		var seen []string
		intercepted := NewClient(c, Funcs{SubResourceUpdate: func(_ context.Context, _ client.Client, name string, _ client.Object, _ ...client.SubResourceUpdateOption) error {
			seen = append(seen, name)
			return nil
		}})
		require.NoError(t, intercepted.Status().Update(t.Context(), configMap()))
		require.NoError(t, intercepted.SubResource("scale").Update(t.Context(), configMap()))
		require.Equal(t, []string{"status", "scale"}, seen)

		intercepted = NewClient(c, Funcs{
			SubResource: func(behind client.WithWatch, name string) client.SubResourceClient {
				seen = append(seen, "all of "+name)
				return behind.SubResource(name)
			},
			SubResourceGet: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceGetOption) error {
				return errIntercepted
			},
		})
		require.NotErrorIs(t, intercepted.SubResource("scale").Get(t.Context(), configMap(), &autoscalingv1.Scale{}), errIntercepted)
		_ = intercepted.Status().Update(t.Context(), configMap())
		require.Equal(t, []string{"status", "scale", "all of scale", "all of status"}, seen)
	})
}
