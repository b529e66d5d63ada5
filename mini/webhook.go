package mini

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
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
// Caveats: the API server asks only about the resources in the configuration. A rule for
// deployments does not cover deployments/scale: kubectl scale passes it by, because it
// writes this subresource. Add deployments/scale to the rules, with an Admission for
// *autoscalingv1.Scale.
type Webhook struct {
	http.ServeMux
	Listener net.Listener // Run closes it
	TLS      *tls.Config  // with the certificate; nil serves HTTP
}

// Run answers reviews until ctx ends, and waits for those that are running.
func (w *Webhook) Run(ctx context.Context) error {
	const patience = 30 * time.Second // the API server has no more
	server := &http.Server{Handler: &w.ServeMux, TLSConfig: w.TLS, ReadTimeout: patience}
	failed := make(chan error, 1) // one error, which is not waited for after a stop
	go func() {
		if w.TLS != nil {
			failed <- server.ServeTLS(w.Listener, "", "")
		} else {
			failed <- server.Serve(w.Listener)
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("webhook: %w", err)
	case <-ctx.Done():
		return server.Shutdown(context.WithoutCancel(ctx))
	}
}

// Admission answers one question of the API server.
type Admission func(context.Context, *admissionv1.AdmissionRequest) (
	*admissionv1.AdmissionResponse, error)

// Validate has check called with the old and the new state of an object. The old one is
// nil if the object is being created, the new one if it is being deleted. An error denies
// the request. If it is of apierrors, its code and reason are the answer's; otherwise
// they are 403 and Forbidden.
func Validate[T Object](check func(ctx context.Context, old, new T) error) Admission {
	return func(ctx context.Context, req *admissionv1.AdmissionRequest) (
		*admissionv1.AdmissionResponse, error) {
		old, err := decode[T](req, req.OldObject)
		if err != nil {
			return nil, err
		}
		obj, err := decode[T](req, req.Object)
		if err != nil {
			return nil, err
		}
		return &admissionv1.AdmissionResponse{Allowed: true}, check(ctx, old, obj)
	}
}

// Default has fill called with each object that is about to be stored. What it changes
// is sent as a JSON patch, and so are no fields that T does not know. They are lost only
// in a list that fill changes: a list is replaced whole.
func Default[T Object](fill func(ctx context.Context, obj T) error) Admission {
	return func(ctx context.Context, req *admissionv1.AdmissionRequest) (
		*admissionv1.AdmissionResponse, error) {
		response := &admissionv1.AdmissionResponse{Allowed: true}
		if len(req.Object.Raw) == 0 {
			return response, nil // a deletion: nothing will be stored
		}
		obj, err := decode[T](req, req.Object)
		if err != nil {
			return nil, err
		}
		before, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		if err := fill(ctx, obj); err != nil {
			return nil, err
		}
		after, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		if ops := diff("", req.Object.Raw, before, after); len(ops) > 0 {
			response.PatchType = new(admissionv1.PatchTypeJSONPatch)
			response.Patch, err = json.Marshal(ops)
		}
		return response, err
	}
}

// decode returns nil if there is no object.
func decode[T Object](
	req *admissionv1.AdmissionRequest, raw runtime.RawExtension,
) (T, error) {
	obj := newObject[T]()
	if req.Kind.Kind != kindName(obj) { // a Scale would decode as an empty one
		return obj, apierrors.NewBadRequest(
			fmt.Sprintf("got a %s, want a %s", req.Kind.Kind, kindName(obj)))
	}
	if len(raw.Raw) == 0 {
		return *new(T), nil
	}
	if err := json.Unmarshal(raw.Raw, obj); err != nil {
		return obj, apierrors.NewBadRequest(err.Error())
	}
	return obj, nil
}

// Warn adds a warning to the answer: kubectl shows it, whether the request is denied or
// not. The context is the one that Validate or Default has handed out.
func Warn(ctx context.Context, text string) {
	warnings := ctx.Value(warningsKey{}).(*[]string)
	*warnings = append(*warnings, text)
}

type warningsKey struct{}

// maxReview has room for two objects: etcd takes 1.5 MB, and JSON is longer than what is
// stored.
const maxReview = 7 << 20

// ServeHTTP reads a review and writes the answer into it. What is not a review gets an
// HTTP error. An error of the Admission, in contrast, is an answer.
func (a Admission) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/json" {
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" ||
		review.Request == nil {
		http.Error(w, "want an AdmissionReview of v1", http.StatusBadRequest)
		return
	}
	review.Response = a.answer(r.Context(), review.Request)
	review.Response.UID = review.Request.UID
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // fails if the API server has given up
}

// answer calls the Admission, and makes an answer of an error or a panic.
func (a Admission) answer(
	ctx context.Context, req *admissionv1.AdmissionRequest,
) (response *admissionv1.AdmissionResponse) {
	var warnings []string
	defer func() {
		if p := recover(); p != nil {
			slog.Error("webhook panic", "panic", p, "stack", string(debug.Stack()))
			response = denied(apierrors.NewInternalError(fmt.Errorf("panic: %v", p)))
		}
		response.Warnings = warnings
	}()
	response, err := a(context.WithValue(ctx, warningsKey{}, &warnings), req)
	if err != nil {
		return denied(err)
	}
	return response
}

func denied(err error) *admissionv1.AdmissionResponse {
	status := metav1.Status{
		Code: 403, Reason: metav1.StatusReasonForbidden, Message: err.Error(),
	}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.Status = metav1.StatusFailure
	return &admissionv1.AdmissionResponse{Result: &status}
}

// operation is one of a JSON patch (RFC 6902). To add what is there replaces it.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// diff returns the operations on stored, the object as the API server has sent it, that
// make the change from before to after. Those two are encoded from the Go type: they lack
// fields that it does not know, and have empty ones that stored lacks.
func diff(path string, stored, before, after json.RawMessage) (ops []operation) {
	s, b, a := fields(stored), fields(before), fields(after)
	if s == nil || b == nil || a == nil {
		return []operation{{Op: "add", Path: path, Value: after}}
	}
	keys := maps.Clone(b)
	maps.Copy(keys, a)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := path + "/" + pointer.Replace(key)
		switch {
		case bytes.Equal(b[key], a[key]):
		case a[key] != nil:
			ops = append(ops, diff(at, s[key], b[key], a[key])...)
		case s[key] != nil:
			ops = append(ops, operation{Op: "remove", Path: at})
		}
	}
	return ops
}

// fields returns the fields of a JSON object, and nil of anything else.
func fields(raw json.RawMessage) (all map[string]json.RawMessage) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// pointer escapes a key for a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
