package envtest

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admission "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serveWebhooks serves as a suite's webhook server does: at the host, port and certificate that the
// options name. It lets through what verdict says.
func serveWebhooks(t *testing.T, o WebhookInstallOptions, verdict func(path string) bool) {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(o.LocalServingCertDir, "tls.crt"), filepath.Join(o.LocalServingCertDir, "tls.key"))
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", net.JoinHostPort(o.LocalServingHost, strconv.Itoa(o.LocalServingPort)),
		&tls.Config{Certificates: []tls.Certificate{certificate}})
	require.NoError(t, err, "the port that Start chose cannot be used")
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := &admission.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: verdict(r.URL.Path), Result: &metav1.Status{Message: "not this one"}}
		_ = json.NewEncoder(w).Encode(review)
	})}
	ended := make(chan struct{})
	go func() { _ = server.Serve(listener); close(ended) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
}

func TestTheAPIServerCallsTheWebhooksOfATest(t *testing.T) {
	environment := &Environment{
		CRDDirectoryPaths:     []string{"testdata/crds"},
		WebhookInstallOptions: WebhookInstallOptions{Paths: []string{"testdata/webhooks"}},
	}
	config := started(t, environment)
	serveWebhooks(t, environment.WebhookInstallOptions, func(path string) bool { return path != "/validate-widget" })
	c := clientFor(t, config)
	// A new configuration reaches the API server's admission a moment later; until then it lets
	// everything through.
	eventually(t, "the webhook is called", func() error {
		err := c.Create(t.Context(), widget("a"))
		if err != nil {
			assert.ErrorContains(t, err, "not this one")
			return nil
		}
		return c.Delete(t.Context(), widget("a"))
	})
	require.NoError(t, environment.WebhookInstallOptions.Install(config), "what is there is updated")
}
