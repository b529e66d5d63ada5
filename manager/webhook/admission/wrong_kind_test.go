package admission

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without the UID, the API server reports "expected response.uid" instead of the reason.
func TestAReviewOfAnotherKindIsRefusedWithItsUID(t *testing.T) {
	for _, head := range []string{
		`"kind":"ConversionReview","apiVersion":"admission.k8s.io/v1"`,
		`"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2"`,
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{`+head+`,"request":{"uid":"7"}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		(&Webhook{}).ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), `"uid":"7"`, head)
		require.Contains(t, w.Body.String(), "and not an AdmissionReview", head)
	}
}
