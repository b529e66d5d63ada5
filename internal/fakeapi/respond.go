package fakeapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// An answer writes one response in the negotiated format.
type answer struct {
	w      http.ResponseWriter
	format format
}

// object sends one object. It must have its type set.
func (a answer) object(code int, obj runtime.Object) {
	data, err := a.format.encode(a.format.object(obj))
	if err != nil {
		a.error(err)
		return
	}
	a.bytes(code, data)
}

// raw sends an object as it is, whatever the client asked to see of objects.
func (a answer) raw(code int, obj runtime.Object) {
	data, err := a.format.encode(obj)
	if err != nil {
		a.error(err)
		return
	}
	a.bytes(code, data)
}

func (a answer) bytes(code int, data []byte) {
	h := a.w.Header()
	h.Set("Content-Type", a.format.info.MediaType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Cache-Control", "no-cache, private")
	a.w.WriteHeader(code)
	_, _ = a.w.Write(data) // an error here means that the client has gone
}

// error sends err as a Status.
func (a answer) error(err error) {
	status := statusOf(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		a.w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	data, encodeErr := a.format.encode(status)
	if encodeErr != nil {
		http.Error(a.w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.bytes(int(status.Code), data)
}

// statusOf is the Status of an error. An error that has none is a 500 without
// a reason, as from the real server.
func statusOf(err error) *metav1.Status {
	status := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		copied := known.Status()
		status = copied.DeepCopy()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}

// warn adds a warning, which clients log.
func warn(w http.ResponseWriter, text string) {
	if text != "" {
		w.Header().Add("Warning", fmt.Sprintf("299 - %q", text))
	}
}

func success(details *metav1.StatusDetails, code int32) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess, Details: details, Code: code,
	}
}
