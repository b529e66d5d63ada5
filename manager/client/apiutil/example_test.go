package apiutil_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

func ExampleGVKForObject() {
	fmt.Println(apiutil.GVKForObject(&corev1.Pod{}, scheme.Scheme))
	// Output: /v1, Kind=Pod <nil>
}

// The mapper learns what it is asked for.
func ExampleNewDynamicRESTMapper() {
	server := fakeapi.New(fakeapi.Options{})
	defer server.Close()
	config := server.Config()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		panic(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		panic(err)
	}
	fmt.Println(apiutil.IsObjectNamespaced(&corev1.Pod{}, scheme.Scheme, mapper))
	fmt.Println(apiutil.IsObjectNamespaced(&corev1.Node{}, scheme.Scheme, mapper))
	// Output:
	// true <nil>
	// false <nil>
}
