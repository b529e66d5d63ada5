package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	conversionmetrics "github.com/loopwright/loopwright/manager/webhook/conversion/metrics"
)

// respond answers a request: with all its objects, in its order, or with the first error. The API
// server takes all or nothing.
func (wh *webhook) respond(ctx context.Context, req *conversionRequest) *conversionResponse {
	response := &conversionResponse{UID: req.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for i, object := range req.Objects {
		converted, err := wh.convert(ctx, object.Raw, req.DesiredAPIVersion)
		if err != nil {
			err = fmt.Errorf("object %d of %d%s, to %s: %w", i+1, len(req.Objects), nameOf(object.Raw), req.DesiredAPIVersion, err)
			packageLog.Error(err, "Cannot convert", "requestID", req.UID)
			response.ConvertedObjects = nil
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			return response
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: converted})
	}
	return response
}

// errPanicked says no more, as in controller-runtime: what panicked is in the log.
var errPanicked = errors.New("internal error occurred during conversion")

// convert converts one object. A panic of a user's function is one error like others.
func (wh *webhook) convert(ctx context.Context, raw []byte, version string) (converted []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			conversionmetrics.WebhookPanics.WithLabelValues().Inc()
			for _, report := range utilruntime.PanicHandlers { // crash reporters hook in there
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
		return nil, fmt.Errorf("it has that version already, and the API server asks only for others")
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
	// A conversion that copies all of an object, TypeMeta too, does no harm.
	dst.GetObjectKind().SetGroupVersionKind(to)
	if err := sameObject(src, dst); err != nil {
		return nil, err
	}
	return json.Marshal(dst)
}

// sameObject checks what the API server will check: a conversion may change labels and annotations, and none
// of the metadata that says which object it is. All other metadata the API server restores itself.
//
// controller-runtime leaves it to the API server, whose message does not say whose mistake it is.
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
			return fmt.Errorf("the conversion changed metadata.%s from %q to %q: copy the ObjectMeta from one object to the other",
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
