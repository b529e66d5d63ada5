package mini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Webhook is a server that the API server asks before it stores an object. Handle adds
// an Admission under a path, which a ValidatingWebhookConfiguration or a
// MutatingWebhookConfiguration names.
//
// Guarantees: other clients may reach the port, too. None of them can make the process
// read more than maxReview for a request, or wait longer than reviewTimeout for the whole
// request, and as long again while it doesn't read the answer.
//
// Caveats: the API server asks only about the resources in the configuration. A rule for
// deployments does not cover deployments/scale: kubectl scale passes it by, because it
// writes this subresource. Add deployments/scale to the rules, with an Admission for
// *autoscalingv1.Scale.
type Webhook struct {
	http.ServeMux
	Listener net.Listener // Run closes it. The API server insists on TLS: tls.NewListener
}

const (
	// maxReview is the longest body that is read. A review may have two states of an
	// object, and the API server takes at most 3 MiB for one.
	maxReview = 7 << 20
	// reviewTimeout is how long a request may take to arrive, and again to be answered.
	// The API server waits for at most 30 s.
	reviewTimeout = 30 * time.Second
)

// Run answers reviews until ctx ends, and waits for those that are running.
func (w *Webhook) Run(ctx context.Context) error {
	server := &http.Server{
		Handler: &w.ServeMux, ReadTimeout: reviewTimeout, WriteTimeout: reviewTimeout,
	}
	failed := make(chan error, 1) // one error, which is not waited for after a stop
	go func() { failed <- server.Serve(w.Listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("webhook: %w", err)
	case <-ctx.Done():
		return server.Shutdown(context.WithoutCancel(ctx))
	}
}

// Admission decides about one request. An error denies it: if it is of apierrors, its
// code and reason are the answer's, otherwise they are 403 and Forbidden. Without an
// error the request is allowed. If patch isn't empty, it's a JSON patch, which the API
// server applies to the object.
type Admission func(
	ctx context.Context, req *admissionv1.AdmissionRequest,
) (patch []byte, err error)

// ServeHTTP reads a review, and sends it back with an answer. A body that isn't a review
// gets an HTTP error. A denial isn't an HTTP error: it's an answer.
func (a Admission) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	body := http.MaxBytesReader(w, r.Body, maxReview)
	err := json.NewDecoder(body).Decode(&review)
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil || review.Request == nil {
		http.Error(w, "want an AdmissionReview", http.StatusBadRequest)
		return
	}
	review.Response = a.answer(r.Context(), review.Request)
	review.Response.UID = review.Request.UID
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // fails if the API server has given up
}

func (a Admission) answer(
	ctx context.Context, req *admissionv1.AdmissionRequest,
) *admissionv1.AdmissionResponse {
	patch, err := a(ctx, req)
	if err != nil {
		return &admissionv1.AdmissionResponse{Result: statusOf(err)}
	}
	response := &admissionv1.AdmissionResponse{Allowed: true}
	if len(patch) > 0 {
		response.Patch = patch
		response.PatchType = new(admissionv1.PatchTypeJSONPatch)
	}
	return response
}

// statusOf is what the user gets to read.
func statusOf(err error) *metav1.Status {
	status := metav1.Status{
		Code: 403, Reason: metav1.StatusReasonForbidden, Message: err.Error(),
	}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.Status = metav1.StatusFailure
	return &status
}

// Validate calls check with the old and the new state of an object. The old one is nil
// if the object is being created, the new one if it is being deleted. An error of check
// denies the request.
func Validate[T Object](check func(ctx context.Context, old, new T) error) Admission {
	return func(
		ctx context.Context, req *admissionv1.AdmissionRequest,
	) ([]byte, error) {
		old, err := decode[T](req, req.OldObject)
		if err != nil {
			return nil, err
		}
		obj, err := decode[T](req, req.Object)
		if err != nil {
			return nil, err
		}
		return nil, check(ctx, old, obj)
	}
}

// decode returns nil if there is no object.
func decode[T Object](
	req *admissionv1.AdmissionRequest, raw runtime.RawExtension,
) (obj T, err error) {
	switch want := kindName(obj); {
	case req.Kind.Kind != want: // a Scale would decode as an empty Deployment
		err = fmt.Errorf("got a %s, want a %s: see the rules", req.Kind.Kind, want)
	case len(raw.Raw) > 0:
		obj = newObject[T]()
		err = json.Unmarshal(raw.Raw, obj)
	}
	return obj, err
}
