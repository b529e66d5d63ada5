package start

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/benchmarks/manager"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Serve returns the configuration of a server with this many objects: half of them are pods, two in five
// ConfigMaps, and the rest Services. Lists are encoded once and answered from memory, and watches are
// silent. All else, such as discovery, is answered by the in-memory API server. End stops that one.
func Serve(objects int) (config *rest.Config, end func()) {
	api := fakeapi.New(fakeapi.Options{})
	pods, maps := objects/2, objects*2/5
	services := objects - pods - maps
	list := metav1.ListMeta{ResourceVersion: "1000000"}
	s := &prepared{all: api.Transport(), bodies: map[string][]byte{
		"pods":       encode(&corev1.PodList{ListMeta: list, Items: manager.SomePods(pods)}),
		"configmaps": encode(&corev1.ConfigMapList{ListMeta: list, Items: many(maps, configMap)}),
		"services":   encode(&corev1.ServiceList{ListMeta: list, Items: many(services, service)}),
	}}
	return &rest.Config{Host: "http://start", Transport: s, QPS: -1}, api.Close
}

func encode(list runtime.Object) []byte {
	codecs := serializer.NewCodecFactory(scheme.Scheme)
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	body, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), list)
	must(err)
	return body
}

func many[T any](n int, one func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = one(i)
	}
	return all
}

func meta(kind string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: fmt.Sprintf("shop-%d", i%20), Name: fmt.Sprintf("%s-%05d", kind, i), ResourceVersion: fmt.Sprint(200_000 + i),
		UID:    types.UID(fmt.Sprintf("0a1b2c3d-1111-4000-8000-%012d", i)),
		Labels: map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": fmt.Sprintf("web-%d", i%50)},
	}
}

func configMap(i int) corev1.ConfigMap {
	return corev1.ConfigMap{ObjectMeta: meta("settings", i), Data: map[string]string{
		"mode": "production", "url": fmt.Sprintf("https://shop-%d.example.com", i), "log.level": "info",
	}}
}

func service(i int) corev1.Service {
	return corev1.Service{ObjectMeta: meta("web", i), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app.kubernetes.io/instance": fmt.Sprintf("web-%d", i%50)}, Type: corev1.ServiceTypeClusterIP,
		ClusterIP: fmt.Sprintf("10.1.%d.%d", i>>8&255, i&255), Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
	}}
}

// prepared answers lists with bodies that are there.
type prepared struct {
	all    http.RoundTripper
	bodies map[string][]byte // by resource
}

// RoundTrip implements http.RoundTripper.
func (s *prepared) RoundTrip(r *http.Request) (*http.Response, error) {
	body, found := s.bodies[path.Base(r.URL.Path)]
	if !found {
		return s.all.RoundTrip(r)
	}
	answer := func(status int, mediaType string, body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {mediaType}}, ContentLength: -1, Body: body, Request: r}, nil
	}
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true": // both sides list then
		return answer(http.StatusUnprocessableEntity, runtime.ContentTypeJSON, io.NopCloser(strings.NewReader(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"no WatchList here"}`)))
	case query.Get("watch") != "":
		reader, writer := io.Pipe()
		context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(io.EOF) })
		return answer(http.StatusOK, runtime.ContentTypeProtobuf+";stream=watch", reader)
	default:
		return answer(http.StatusOK, runtime.ContentTypeProtobuf, io.NopCloser(bytes.NewReader(body)))
	}
}
