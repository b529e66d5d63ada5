package fakeapi

import (
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxBody is the real server's limit of a request.
const maxBody = 3 << 20

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("read the body of the request: %v", err))
	}
	if len(body) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return body, nil
}

// decodeObject reads an object of the resource. What fieldValidation finds
// wrong is an error or comes back as warnings.
func decodeObject(res *resource, contentType, fieldValidation string, body []byte) (obj runtime.Object, warnings []error, err error) {
	info, err := inputFormat(contentType, res.typed)
	if err != nil {
		return nil, nil, err
	}
	if !res.typed {
		obj, warnings, err = decodeCustom(res, info, body)
	} else {
		obj, warnings, err = decodeTyped(res.gvk(), info, body, fieldValidation != metav1.FieldValidationIgnore)
	}
	if err != nil {
		return nil, nil, err
	}
	if fieldValidation == metav1.FieldValidationIgnore {
		warnings = nil
	}
	if len(warnings) > 0 && fieldValidation == metav1.FieldValidationStrict {
		return nil, nil, cannotHandle(res.gvk(), res.Kind.Kind, runtime.NewStrictDecodingError(warnings))
	}
	if res.defaults != nil {
		res.defaults(obj)
	}
	return obj, warnings, nil
}

// decodeTyped reads an object of a kind with a Go type.
func decodeTyped(gvk schema.GroupVersionKind, info runtime.SerializerInfo, body []byte, strict bool) (runtime.Object, []error, error) {
	serializer := info.Serializer
	if strict && info.StrictSerializer != nil {
		serializer = info.StrictSerializer
	}
	into, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, nil, err
	}
	obj, actual, err := serializer.Decode(body, &gvk, into)
	var warnings []error
	if problems, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		warnings, err = problems.Errors(), nil
	}
	switch {
	case err != nil && actual == nil:
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", gvk.Kind, err, body))
	case err != nil:
		return nil, nil, cannotHandle(*actual, gvk.Kind, err)
	case *actual != gvk:
		return nil, nil, cannotHandle(*actual, gvk.Kind, fmt.Errorf("converting (%s) to (%s): unknown conversion", actual.Kind, gvk.Kind))
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, warnings, nil
}

func cannotHandle(actual schema.GroupVersionKind, kind string, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", actual.Kind, actual.Version, kind, err))
}

// decodeCustom reads a custom resource. The fake has no schema for it, so any
// field is welcome.
func decodeCustom(res *resource, info runtime.SerializerInfo, body []byte) (runtime.Object, []error, error) {
	unreadable := func(err error) error {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", res.Kind.Kind, err, body))
	}
	if info.MediaType == runtime.ContentTypeYAML {
		converted, err := yaml.YAMLToJSON(body)
		if err != nil {
			return nil, nil, unreadable(err)
		}
		body = converted
	}
	content := map[string]any{}
	warnings, err := kjson.UnmarshalStrict(body, &content)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	u := &unstructured.Unstructured{Object: content}
	actual := u.GroupVersionKind()
	if actual.Kind == "" {
		u.SetGroupVersionKind(res.gvk())
	} else if actual != res.gvk() {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", actual.GroupVersion(), res.apiVersion()))
	}
	if err := checkCustomMetadata(u); err != nil {
		return nil, nil, unreadable(err)
	}
	unknown, err := checkSchema(res, u, body)
	return u, append(warnings, unknown...), err
}

// checkCustomMetadata makes sure that the metadata of a map has the shape that
// the rest of the server relies on.
func checkCustomMetadata(u *unstructured.Unstructured) error {
	m, found := u.Object["metadata"]
	if !found || m == nil {
		u.Object["metadata"] = map[string]any{}
		return nil
	}
	content, ok := m.(map[string]any)
	if !ok {
		return fmt.Errorf("metadata is a %T", m)
	}
	var meta metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &meta); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	// A null timestamp is how Go clients send an unset one.
	if content["creationTimestamp"] == nil {
		delete(content, "creationTimestamp")
	}
	return nil
}

// decodeDeleteOptions reads the options of a delete from the body, or from the
// query if there is none.
func decodeDeleteOptions(contentType string, body []byte) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(body) == 0 {
		return options, nil
	}
	info, err := inputFormat(contentType, true)
	if err != nil {
		return nil, err
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
	obj, actual, err := info.Serializer.Decode(body, &gvk, options)
	if runtime.IsNotRegisteredError(err) && actual != nil && actual.Kind == gvk.Kind {
		// A client with Go types of custom resources gives the options their group,
		// and the real server takes them in any.
		obj, err = options, yaml.Unmarshal(body, options)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if obj != runtime.Object(options) {
		return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return options, nil
}
