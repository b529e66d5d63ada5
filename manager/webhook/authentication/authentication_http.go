package authentication

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/webhook/internal/incoming"
)

// maxRequestSize bounds a body, which is little more than a token of a few kilobytes.
const maxRequestSize = 1 << 20

const reviewKind = "TokenReview"

// ServeHTTP implements http.Handler. What is no TokenReview, or has no token, is answered with an error in the
// status.
func (wh *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if wh.WithContextFunc != nil {
		ctx = wh.WithContextFunc(ctx, r)
	}
	ctx, cancel := incoming.Awaited(ctx, r.URL)
	defer cancel()

	req, err := read(r)
	var response Response
	if err != nil {
		logger(&req).Error(err, "Answering a request that is no review")
		response = Errored(err)
		response.UID = req.UID
	} else {
		response = wh.Handle(ctx, req)
	}
	response.TypeMeta = answerVersion(req.TypeMeta)
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(response.TokenReview); err != nil {
		logger(&req).Error(err, "Cannot send the answer; the API server may have stopped waiting")
	}
}

// read returns the question, or as much of it as there is, and an error.
func read(r *http.Request) (req Request, err error) {
	body, wrong := incoming.Body(r, maxRequestSize)
	if wrong == nil {
		wrong = incoming.JSON(r)
	}
	if wrong != nil {
		return req, wrong
	}
	if err := json.Unmarshal(body, &req.TokenReview); err != nil {
		return req, fmt.Errorf("the body is not a TokenReview: %w", err)
	}
	asked, known := req.TypeMeta, answerVersion(req.TypeMeta)
	switch {
	case asked != known && asked != metav1.TypeMeta{}:
		return req, fmt.Errorf("the body is a %s of version %s, and not a TokenReview of version %s or v1beta1",
			asked.Kind, asked.APIVersion, authenticationv1.SchemeGroupVersion)
	case req.Spec.Token == "":
		return req, errors.New("token is empty")
	}
	return req, nil
}

// answerVersion is the version to answer in: that of the question, or v1 if we do not know it.
func answerVersion(question metav1.TypeMeta) metav1.TypeMeta {
	version := authenticationv1.SchemeGroupVersion.String()
	if question.APIVersion == authenticationv1.GroupName+"/v1beta1" {
		version = question.APIVersion
	}
	return metav1.TypeMeta{APIVersion: version, Kind: reviewKind}
}
