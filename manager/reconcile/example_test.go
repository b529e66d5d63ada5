package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// A request is the name of an object, and nothing else.
func ExampleRequest() {
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	fmt.Println(request)
	// Output: shop/web
}

// What a reconciler returns says when it wants to be called again.
func ExampleFunc() {
	certificates := map[string]time.Duration{"shop/web": 40 * 24 * time.Hour} // until they expire
	renew := reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
		left, found := certificates[request.String()]
		if !found {
			return reconcile.Result{}, nil // it was deleted: there is nothing to do
		}
		return reconcile.Result{RequeueAfter: left - 30*24*time.Hour}, nil
	})
	result, err := renew.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
	fmt.Println(result.RequeueAfter, err)
	// Output: 240h0m0s <nil>
}

func ExampleResult() {
	done := reconcile.Result{}
	poll := reconcile.Result{RequeueAfter: time.Minute}
	fmt.Println(done.IsZero(), poll.IsZero())
	// Output: true false
}

// Nobody can retry a mistake away. Somebody has to correct it, and that is an event.
func ExampleTerminalError() {
	err := fmt.Errorf("shop/web: %w", reconcile.TerminalError(errors.New("the spec has no image")))
	fmt.Println(err)
	fmt.Println(errors.Is(err, reconcile.TerminalError(nil)))
	// Output:
	// shop/web: terminal error: the spec has no image
	// true
}

// A database user cannot be made before its password is there. Retrying would ask too often at
// first, and be late in the end.
func ExampleWaitFor() {
	password := reconcile.ObjectRef{Kind: "Secret", Namespace: "shop", Name: "password"}
	makeUser := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, reconcile.WaitFor(password)
	})
	_, err := makeUser.Reconcile(context.Background(), reconcile.Request{})
	fmt.Println(err)
	// Output: waiting for Secret shop/password
}
