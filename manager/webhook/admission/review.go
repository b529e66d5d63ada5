package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "sigs.k8s.io/json"

	"github.com/loopwright/loopwright/manager/webhook/internal/incoming"
)

// maxRequestSize bounds a body. etcd stores no object of more than about 1.5 MB, which may be twice
// that as JSON; a review has up to two of them, and the rest of it is less than 1 MB.
const maxRequestSize = 7 << 20

// ServeHTTP implements http.Handler. It answers the API server.
//
// If the body isn't a review, it's refused, too, with its UID if it has one: without the UID, the
// API server reports "expected response.uid=..." instead of the reason.
//
// The context of the handler ends when the API server stops waiting.
func (wh *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if wh.WithContextFunc != nil {
		ctx = wh.WithContextFunc(ctx, r)
	}
	ctx, cancel := incoming.Awaited(ctx, r.URL)
	defer cancel()

	body, wrong := incoming.Body(r, maxRequestSize)
	if wrong == nil {
		wrong = incoming.JSON(r)
	}
	var answer head
	var response Response
	if wrong != nil {
		wh.logger(nil).Error(wrong, "Answering a request that is no review")
		answer, response = headOf(body), Errored(wrong.Code, wrong)
	} else {
		answer, response = wh.review(ctx, body)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(writeReview(answer, response)); err != nil {
		wh.logger(nil).Error(err, "Cannot send the answer; the API server may have stopped waiting",
			"requestID", answer.uid)
	}
}

// review is the whole webhook without HTTP: a question in, an answer out.
func (wh *Webhook) review(ctx context.Context, body []byte) (head, Response) {
	req, answer, err := readReview(body)
	if err != nil {
		wh.logger(nil).Error(err, "Answering a request that is no review")
		return answer, Errored(http.StatusBadRequest, err)
	}
	reqLog := wh.logger(&req)
	log := reqLog.V(5)
	log.Info("Received a request")
	response := wh.handle(ctx, req, reqLog)
	if log.Enabled() {
		log.Info("Answered", "allowed", response.Allowed, "result", response.Result)
	}
	return answer, response
}

// reviewKind is the kind of the API server's questions and of our answers.
const reviewKind = "AdmissionReview"

// head is the part of a review that the answer must repeat: if its version or its UID differs, the
// API server refuses the answer, and the user doesn't see the reason.
type head struct {
	version metav1.TypeMeta
	uid     types.UID
}

// readReview reads a question. Versions v1 and v1beta1 have the same fields, so the Go type of v1
// works for both. A review without a version counts as v1, as in controller-runtime.
func readReview(body []byte) (Request, head, error) {
	var review admissionv1.AdmissionReview
	if err := utiljson.UnmarshalCaseSensitivePreserveInts(body, &review); err != nil {
		return Request{}, headOf(body), fmt.Errorf("the body is not an AdmissionReview: %w", err)
	}
	answer := head{version: answerVersion(review.TypeMeta)}
	if review.Request != nil {
		answer.uid = review.Request.UID
	}
	if review.Kind != "" && review.Kind != reviewKind ||
		answer.version.APIVersion != review.APIVersion && review.APIVersion != "" {
		return Request{}, answer, fmt.Errorf("the body is a %s of version %s, and not an "+
			"AdmissionReview of version "+
			"%s or v1beta1", review.Kind, review.APIVersion, admissionv1.SchemeGroupVersion)
	}
	if review.Request == nil {
		return Request{}, answer, errors.New("the AdmissionReview has no request")
	}
	return Request{AdmissionRequest: *review.Request}, answer, nil
}

// answerVersion is the version of the answer: that of the question, or v1 if we don't know it.
func answerVersion(question metav1.TypeMeta) metav1.TypeMeta {
	version := question.APIVersion
	if version != admissionv1.GroupName+"/v1beta1" {
		version = admissionv1.SchemeGroupVersion.String()
	}
	return metav1.TypeMeta{APIVersion: version, Kind: reviewKind}
}

// writeReview writes an answer, which ends with a newline. A review has only strings, numbers and
// bytes in it, so encoding it can't fail.
func writeReview(to head, response Response) []byte {
	response.UID = to.uid
	review := admissionv1.AdmissionReview{
		TypeMeta: to.version, Response: &response.AdmissionResponse,
	}
	document, err := json.Marshal(review)
	if err != nil {
		panic(fmt.Sprintf("an AdmissionReview is no JSON: %v", err))
	}
	return append(document, '\n')
}

// headOf finds version and UID at the beginning of a review that is truncated or damaged. API
// servers write both before the object. If it finds no UID, that stays empty; if it finds no
// version, it's v1.
func headOf(beginning []byte) (found head) {
	decoder := json.NewDecoder(bytes.NewReader(beginning))
	var question metav1.TypeMeta
	members(decoder, func(name string) bool {
		switch name {
		case "apiVersion":
			question.APIVersion = text(decoder)
		case "kind":
			question.Kind = text(decoder)
		case "request":
			members(decoder, func(name string) bool {
				if name != "uid" {
					return skip(decoder)
				}
				found.uid = types.UID(text(decoder))
				return false
			})
			return false
		default:
			return skip(decoder)
		}
		return true
	})
	found.version = answerVersion(question)
	return found
}

// members calls visit for each member of the next object, until visit returns false or the document
// ends. visit reads the value.
func members(decoder *json.Decoder, visit func(name string) bool) {
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return
	}
	for decoder.More() {
		token, err := decoder.Token()
		name, is := token.(string) // after a broken value, any token may follow
		if err != nil || !is || !visit(name) {
			return
		}
	}
}

func text(decoder *json.Decoder) (value string) {
	if decoder.Decode(&value) != nil {
		return ""
	}
	return value
}

func skip(decoder *json.Decoder) bool {
	var ignored json.RawMessage
	return decoder.Decode(&ignored) == nil
}
