package client

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// impostor answers one method in an API server's place.
type impostor struct {
	next              http.RoundTripper
	method            string
	contentType, body string // of the answer, which has the code 200
}

// RoundTrip implements http.RoundTripper.
func (i *impostor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != i.method {
		return i.next.RoundTrip(r)
	}
	return fakeapi.Answer(r, http.StatusOK, i.contentType, i.body), nil
}

// A finalizer is removed because what it stands for was deleted. It's a login page that has said so.
func TestALoginPageIsNoDeletion(t *testing.T) {
	for _, answer := range []struct{ contentType, body string }{
		{"text/html", "<html><title>Log in</title></html>"}, {"application/json", "<html><title>Log in</title></html>"},
		{"application/json", `{"message":"Log in"}`}, {"text/plain", "Log in"}, {"application/json", `{"kind":"Status","apiVer`},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			config := server.Config()
			config.Transport = &impostor{config.Transport, http.MethodDelete, answer.contentType, answer.body}
			c, err := New(config, Options{})
			require.NoError(t, err)
			there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
			require.NoError(t, c.Create(t.Context(), there))
			metadata := &metav1.PartialObjectMetadata{ObjectMeta: there.ObjectMeta}
			metadata.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			free := newUnstructured(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			free.SetNamespace("default")
			free.SetName("a")
			for _, object := range []Object{there, metadata, free} {
				require.ErrorContains(t, c.Delete(t.Context(), object), "and not an API server's", "%T", object)
				require.ErrorContains(t, c.DeleteAllOf(t.Context(), object, InNamespace("default")), "and not an API server's", "%T", object)
			}
		})
	}
}

// Half a character shows as its bytes, in each line of the log.
func TestWhatAnErrorRepeatsOfAPageEndsBetweenTwoCharacters(t *testing.T) {
	for method, request := range map[string]func(Client, Object) error{
		http.MethodDelete: func(c Client, o Object) error { return c.Delete(t.Context(), o) },
		http.MethodPost:   func(c Client, o Object) error { return c.Create(t.Context(), o) },
	} {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			config := server.Config()
			page := `{"message":"x` + strings.Repeat("登录", 100) + `"}`
			config.Transport = &impostor{config.Transport, method, "application/json", page}
			c, err := New(config, Options{})
			require.NoError(t, err)
			there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
			err = request(c, there)
			require.ErrorContains(t, err, "登录")
			require.NotContains(t, err.Error(), `\x`)
			require.NotContains(t, err.Error(), `"}`, "the page is in the error whole")
		})
	}
}
