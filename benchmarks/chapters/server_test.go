package chapters

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/mini"
)

// serve is a server that has these Pods, as prepared bytes of JSON, so that what a client does is nearly all that is
// measured. It answers at once, and a watch never says anything.
func serve(b *testing.B, pods []*corev1.Pod) *rest.Config {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "900000"}}
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
	}
	return &rest.Config{Host: "http://pods", QPS: -1, Transport: prepared{
		list: encode(b, list), one: encode(b, pods[0]),
	}, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
}

func encode(b *testing.B, object runtime.Object) []byte {
	text, err := runtime.Encode(scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), object)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

type prepared struct{ list, one []byte }

func (p prepared) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}}
	switch query := r.URL.Query(); {
	case query.Get("sendInitialEvents") != "":
		answer.StatusCode = http.StatusUnprocessableEntity // so that all of them list
		answer.Body = body([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
	case query.Get("watch") != "":
		answer.Body = silence{r.Context().Done()}
	case strings.HasSuffix(r.URL.Path, "/pods"):
		answer.Body = body(p.list)
	default:
		answer.Body = body(p.one)
	}
	return answer, nil
}

func body(text []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) }

// silence is the body of a watch in which nothing happens until its request ends.
type silence struct{ ended <-chan struct{} }

func (s silence) Read([]byte) (int, error) { <-s.ended; return 0, io.EOF }
func (silence) Close() error               { return nil }

// miniCluster is mini's connection.
func miniCluster(b *testing.B, config *rest.Config) *mini.Cluster {
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	if err != nil {
		b.Fatal(err)
	}
	return cluster
}
