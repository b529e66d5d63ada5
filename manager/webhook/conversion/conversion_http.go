package conversion

import (
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/webhook/internal/incoming"
)

var packageLog = log.RuntimeLog.WithName("conversion-webhook")

// maxRequestSize bounds a body. The API server converts a whole list in one request, so it is much larger
// than that of an admission review: 10,000 objects of 50 kB, say. controller-runtime has no limit.
const maxRequestSize = 512 << 20

// NewWebhookHandler returns the handler that converts the kinds of the scheme. The builder registers it at
// /convert.
//
// A kind that has a converter in the registry is converted by it, and any other by its own methods: see
// manager/conversion.
func NewWebhookHandler(scheme *runtime.Scheme, registry Registry) http.Handler {
	return &webhook{scheme: scheme, decoder: NewDecoder(scheme), registry: registry, limit: maxRequestSize}
}

type webhook struct {
	scheme   *runtime.Scheme
	decoder  *Decoder
	registry Registry
	limit    int64
}

// ServeHTTP implements http.Handler. What is no ConversionReview has the status code 400 and a reason; for
// anything else it is 200, and the review says whether the conversion worked.
func (wh *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := incoming.Awaited(r.Context(), r.URL)
	defer cancel()

	body, wrong := incoming.Body(r, wh.limit)
	if wrong == nil && r.Header.Get("Content-Type") != "" { // controller-runtime does not look at it at all
		wrong = incoming.JSON(r)
	}
	var review conversionReview
	if wrong == nil {
		wrong = readReview(body, &review)
	}
	if wrong != nil {
		packageLog.Error(wrong, "Answering a request that is no ConversionReview")
		http.Error(w, wrong.Message, int(wrong.Code))
		return
	}
	review.Response = wh.respond(ctx, review.Request)
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		packageLog.Error(err, "Cannot send the answer; the API server may have stopped waiting", "requestID", review.Response.UID)
	}
}

// readReview reads a question. Versions v1 and v1beta1 have the same fields, and the answer has the version of the
// question. One without a version is taken for v1.
func readReview(body []byte, review *conversionReview) *incoming.Error {
	bad := func(format string, args ...any) *incoming.Error {
		return &incoming.Error{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(body, review); err != nil {
		return bad("the body is not a ConversionReview: %v", err)
	}
	if review.TypeMeta == (metav1.TypeMeta{}) {
		review.TypeMeta = metav1.TypeMeta{Kind: reviewKind, APIVersion: reviewVersion}
	}
	if review.Kind != reviewKind || review.APIVersion != reviewVersion && review.APIVersion != olderReviews {
		return bad("the body is a %s of version %s, and not a ConversionReview of version %s or v1beta1",
			review.Kind, review.APIVersion, reviewVersion)
	}
	if review.Request == nil {
		return bad("the ConversionReview has no request")
	}
	return nil
}
