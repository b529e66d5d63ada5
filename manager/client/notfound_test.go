package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
)

// What answers a read with 404 may be anything between here and the API server. If one of these
// counts as an absence, somebody's Pod is deleted.
func TestOnlyTheAPIServersOwnAnswerIsAnAbsence(t *testing.T) {
	for _, answer := range []struct{ name, contentType, body string }{
		{"a load balancer's text", "text/plain; charset=utf-8", "404 page not found\n"},
		{"an HTML page", "text/html", "<html><title>404 Not Found</title></html>"},
		{"nothing", "", ""},
		{"another service's JSON", "application/json", `{"code":404,"message":"Not Found"}`},
		{"a text that's called JSON", "application/json", "404 page not found\n"},
		{"a Status without a reason", "application/json",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}`},
		{"a Status about nothing", "application/json", `{"kind":"Status","apiVersion":"v1",` +
			`"status":"Failure","reason":"NotFound","code":404}`},
		{"a Status about another object", "application/json", `{"kind":"Status","apiVersion":"v1",` +
			`"status":"Failure","reason":"NotFound","details":{"name":"b","kind":"pods"},"code":404}`},
		{"a Status that was cut off", "application/json", `{"kind":"Status","apiVersion":"v1",` +
			`"status":"Failure","reason":"NotFound","details":{"name":"a","ki`},
	} {
		err := readingFrom(t, http.StatusNotFound, answer.contentType, answer.body)
		require.Error(t, err, answer.name)
		assert.False(t, client.IsAbsent(err, client.ObjectKey{Namespace: "ns", Name: "a"}),
			"%s counts as an absence: %v", answer.name, err)
	}
	err := readingFrom(t, http.StatusNotFound, "application/json", `{"kind":"Status",`+
		`"apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"a\" not found",`+
		`"reason":"NotFound","details":{"name":"a","kind":"pods"},"code":404}`)
	assert.True(t, client.IsAbsent(err, client.ObjectKey{Namespace: "ns", Name: "a"}), "%v", err)
}

func readingFrom(t *testing.T, code int, contentType, body string) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs}, APIPath: "/api"}
	raw, err := rest.RESTClientFor(config)
	require.NoError(t, err)
	return raw.Get().Namespace("ns").Resource("pods").Name("a").Do(context.Background()).Error()
}

func TestAnAbsenceIsAboutTheObjectWeAskedFor(t *testing.T) {
	pods, namespaces := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "namespaces"}
	key := client.ObjectKey{Namespace: "shop", Name: "shop"}
	assert.True(t, client.IsAbsent(apierrors.NewNotFound(pods, "shop"), key))
	assert.True(t, client.IsAbsent(fmt.Errorf("reading: %w", apierrors.NewNotFound(pods, "shop")), key))
	assert.True(t, client.IsAbsent(apierrors.NewNotFound(namespaces, "shop"), client.ObjectKey{Name: "shop"}))
	assert.False(t, client.IsAbsent(apierrors.NewNotFound(namespaces, "shop"), key),
		"a create's answer when its namespace is missing isn't about the Pod")
	assert.False(t, client.IsAbsent(apierrors.NewNotFound(pods, "web"), key))
	assert.False(t, client.IsAbsent(nil, key))
	assert.False(t, client.IsAbsent(errors.New("not found"), key))
	assert.False(t, client.IsAbsent(&apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusNotFound}}, key), "a code alone proves nothing")
}
