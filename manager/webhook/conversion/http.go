package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/loopwright/loopwright/manager/log"
	conversionmetrics "github.com/loopwright/loopwright/manager/webhook/conversion/metrics"
	"github.com/loopwright/loopwright/manager/webhook/internal/incoming"
)

// These are the types of k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 with the same
// names and fields. Importing that package would add half a megabyte to every program with a
// manager, because it contains all of CustomResourceDefinitions.

const (
	reviewKind    = "ConversionReview"
	reviewGroup   = "apiextensions.k8s.io"
	reviewVersion = reviewGroup + "/v1"
	olderReviews  = reviewGroup + "/v1beta1" // has the same fields
)

// conversionReview is a request of the API server, or the answer to it.
type conversionReview struct {
	metav1.TypeMeta
	Request  *conversionRequest  `json:"request,omitempty"`
	Response *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               types.UID              `json:"uid"`
	DesiredAPIVersion string                 `json:"desiredAPIVersion"`
	Objects           []runtime.RawExtension `json:"objects"`
}

type conversionResponse struct {
	UID              types.UID              `json:"uid"`
	ConvertedObjects []runtime.RawExtension `json:"convertedObjects"`
	Result           metav1.Status          `json:"result"`
}

// respond answers a request: with all its objects, in its order, or with the first error. The API
// server accepts no partial answer.
func (wh *webhook) respond(ctx context.Context, req *conversionRequest) *conversionResponse {
	response := &conversionResponse{
		UID: req.UID, Result: metav1.Status{Status: metav1.StatusSuccess},
	}
	for i, object := range req.Objects {
		converted, err := wh.convert(ctx, object.Raw, req.DesiredAPIVersion)
		if err != nil {
			err = fmt.Errorf("object %d of %d%s, to %s: %w",
				i+1, len(req.Objects), nameOf(object.Raw), req.DesiredAPIVersion, err)
			packageLog.Error(err, "Cannot convert", "requestID", req.UID)
			response.ConvertedObjects = nil
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			return response
		}
		response.ConvertedObjects = append(response.ConvertedObjects,
			runtime.RawExtension{Raw: converted})
	}
	return response
}

// errPanicked gives no detail, as in controller-runtime: the panic is in the log.
var errPanicked = errors.New("internal error occurred during conversion")

// convert converts one object. A panic of a user's function becomes an error.
func (wh *webhook) convert(
	ctx context.Context, raw []byte, version string,
) (converted []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			conversionmetrics.WebhookPanics.WithLabelValues().Inc()
			for _, report := range utilruntime.PanicHandlers { // crash reporters register there
				report(ctx, value)
			}
			err = errPanicked
		}
	}()
	src, from, err := wh.decoder.Decode(raw)
	if err != nil {
		return nil, err
	}
	to := schema.FromAPIVersionAndKind(version, from.Kind)
	switch {
	case to.GroupKind() != from.GroupKind():
		return nil, fmt.Errorf("%s and %s are not versions of one kind", from, to)
	case to == *from:
		return nil, fmt.Errorf(
			"it has that version already, and the API server asks only for others")
	}
	dst, err := wh.scheme.New(to)
	if err != nil {
		return nil, err
	}
	dst.GetObjectKind().SetGroupVersionKind(to)
	if converter, found := wh.registry.GetConverter(to.GroupKind()); found {
		err = converter.ConvertObject(ctx, src, dst)
	} else {
		err = convertByMethods(wh.scheme, src, dst)
	}
	if err != nil {
		return nil, err
	}
	// The user's conversion may have overwritten the TypeMeta, if it copies the whole object.
	dst.GetObjectKind().SetGroupVersionKind(to)
	if err := sameObject(src, dst); err != nil {
		return nil, err
	}
	return json.Marshal(dst)
}

// sameObject checks what the API server will check: a conversion may change labels and annotations,
// but not the metadata that identifies the object. The API server itself restores all other
// metadata.
//
// controller-runtime leaves it to the API server, whose message doesn't say which conversion is
// wrong.
func sameObject(src, dst runtime.Object) error {
	before, err := meta.Accessor(src)
	if err != nil {
		return err
	}
	after, err := meta.Accessor(dst)
	if err != nil {
		return err
	}
	for _, field := range []struct{ name, before, after string }{
		{"name", before.GetName(), after.GetName()},
		{"namespace", before.GetNamespace(), after.GetNamespace()},
		{"uid", string(before.GetUID()), string(after.GetUID())},
	} {
		if field.before != field.after {
			return fmt.Errorf("the conversion changed metadata.%s from %q to %q: copy the "+
				"ObjectMeta from one object to the other",
				field.name, field.before, field.after)
		}
	}
	return nil
}

// nameOf is the name of an object for messages, or nothing.
func nameOf(raw []byte) string {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(raw, &object) != nil || object.Kind == "" {
		return ""
	}
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	return fmt.Sprintf(" (%s %s, of %s)", object.Kind, name, object.APIVersion)
}

var packageLog = log.RuntimeLog.WithName("conversion-webhook")

// NewWebhookHandler returns the handler that converts the kinds of the scheme. The builder
// registers it at /convert.
//
// A kind that has a converter in the registry is converted by it, and any other kind by its own
// methods: see manager/conversion.
//
// Caveats: the server's MaxRequestBytes limits the body of a request. If you serve the handler
// yourself, use http.MaxBytesHandler.
func NewWebhookHandler(scheme *runtime.Scheme, registry Registry) http.Handler {
	return &webhook{scheme: scheme, decoder: NewDecoder(scheme), registry: registry}
}

type webhook struct {
	scheme   *runtime.Scheme
	decoder  *Decoder
	registry Registry
}

// ServeHTTP implements http.Handler. If the body isn't a ConversionReview, it answers with status
// code 400 and a reason; otherwise with 200 and a review that says whether the conversion worked.
func (wh *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := incoming.Awaited(r.Context(), r.URL)
	defer cancel()

	body, wrong := incoming.Body(r, incoming.Unlimited)
	// controller-runtime ignores the Content-Type
	if wrong == nil && r.Header.Get("Content-Type") != "" {
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
		packageLog.Error(err, "Cannot send the answer; the API server may have stopped waiting",
			"requestID", review.Response.UID)
	}
}

// readReview reads a question. Versions v1 and v1beta1 have the same fields, and the answer has the
// version of the question. A question without a version counts as v1.
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
	if review.Kind != reviewKind ||
		review.APIVersion != reviewVersion && review.APIVersion != olderReviews {
		return bad("the body is a %s of version %s, "+
			"and not a ConversionReview of version %s or v1beta1",
			review.Kind, review.APIVersion, reviewVersion)
	}
	if review.Request == nil {
		return bad("the ConversionReview has no request")
	}
	return nil
}

// Decoder makes Go objects from the objects in a request, each in its own version.
type Decoder struct {
	objects runtime.Decoder
}

// NewDecoder returns a Decoder for the kinds of the scheme. It panics if there's none.
func NewDecoder(scheme *runtime.Scheme) *Decoder {
	if scheme == nil {
		panic("conversion.NewDecoder needs a scheme: pass mgr.GetScheme()")
	}
	return &Decoder{serializer.NewCodecFactory(scheme).UniversalDeserializer()}
}

// Decode returns an object of the type that the scheme has for its kind.
func (d *Decoder) Decode(content []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	return d.objects.Decode(content, nil, nil)
}

// DecodeInto decodes into an object.
func (d *Decoder) DecodeInto(content []byte, into runtime.Object) error {
	return runtime.DecodeInto(d.objects, content, into)
}
