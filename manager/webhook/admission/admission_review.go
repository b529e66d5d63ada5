package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "sigs.k8s.io/json"
)

// reviewKind is what the API server calls its questions and our answers.
const reviewKind = "AdmissionReview"

// head is what of a review is needed to answer it: without the same version and the same UID in the
// answer, the API server refuses it, and the user never reads why.
type head struct {
	version metav1.TypeMeta
	uid     types.UID
}

// readReview reads a question. Versions v1 and v1beta1 have the same fields, so the Go type of v1 is good for both.
// A review without a version is taken for v1, as in controller-runtime.
func readReview(body []byte) (Request, head, error) {
	var review admissionv1.AdmissionReview
	if err := utiljson.UnmarshalCaseSensitivePreserveInts(body, &review); err != nil {
		return Request{}, headOf(body), fmt.Errorf("the body is not an AdmissionReview: %w", err)
	}
	answer := head{version: answerVersion(review.TypeMeta)}
	if review.Kind != "" && review.Kind != reviewKind || answer.version.APIVersion != review.APIVersion && review.APIVersion != "" {
		return Request{}, answer, fmt.Errorf("the body is a %s of version %s, and not an AdmissionReview of version "+
			"%s or v1beta1", review.Kind, review.APIVersion, admissionv1.SchemeGroupVersion)
	}
	if review.Request == nil {
		return Request{}, answer, errors.New("the AdmissionReview has no request")
	}
	answer.uid = review.Request.UID
	return Request{AdmissionRequest: *review.Request}, answer, nil
}

// answerVersion is the version to answer in: that of the question, or v1 if we do not know it.
func answerVersion(question metav1.TypeMeta) metav1.TypeMeta {
	version := question.APIVersion
	if version != admissionv1.GroupName+"/v1beta1" {
		version = admissionv1.SchemeGroupVersion.String()
	}
	return metav1.TypeMeta{APIVersion: version, Kind: reviewKind}
}

// writeReview writes an answer, which ends with a newline. A review has nothing but strings, numbers and bytes, so it
// always is JSON.
func writeReview(to head, response Response) []byte {
	response.UID = to.uid
	document, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: to.version, Response: &response.AdmissionResponse})
	if err != nil {
		panic(fmt.Sprintf("an AdmissionReview is no JSON: %v", err))
	}
	return append(document, '\n')
}

// headOf finds version and UID in the beginning of a review that is cut off or damaged. API servers write
// both in front of the object. What it does not find stays empty, or is v1.
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

// members calls visit for each member of the object that comes next, until visit returns false or the
// document is at its end. visit reads the value.
func members(decoder *json.Decoder, visit func(name string) bool) {
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return
	}
	for decoder.More() {
		token, err := decoder.Token()
		name, is := token.(string) // after a broken value, anything may come
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
