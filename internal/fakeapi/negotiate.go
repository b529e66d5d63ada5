package fakeapi

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// A format is what the client and the server agreed to speak.
type format struct {
	info runtime.SerializerInfo
	// metadataOnly sends PartialObjectMetadata instead of whole objects.
	metadataOnly bool
	// hidesManagers leaves managedFields out.
	hidesManagers bool
}

const partialKind = "PartialObjectMetadata"

var metaGV = schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"}

// mediaTypes are the encodings that the server offers, best first.
func mediaTypes() []runtime.SerializerInfo {
	var out []runtime.SerializerInfo
	for _, want := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf} {
		if info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), want); ok {
			out = append(out, info)
		}
	}
	return out
}

var jsonFormat = format{info: mediaTypes()[0]}

// negotiate reads the Accept header. typed says whether the resource has
// protobuf; watch asks for a format that can be streamed.
func negotiate(accept string, typed, watch bool) (format, error) {
	if accept == "" {
		return jsonFormat, nil
	}
	for _, clause := range clauses(accept) {
		f, ok := clause.format(typed)
		if ok && (!watch || f.info.StreamSerializer != nil) {
			return f, nil
		}
	}
	return format{}, notAcceptable(typed)
}

type clause struct {
	media  string
	params map[string]string
	weight float64
}

func clauses(accept string) []clause {
	var out []clause
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		c := clause{media: media, params: params, weight: 1}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			c.weight = q
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b clause) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	return out
}

func (c clause) format(typed bool) (format, bool) {
	var f format
	switch c.params["as"] {
	case "":
	case partialKind, partialKind + "List":
		if c.params["g"] != metaGV.Group || c.params["v"] != metaGV.Version {
			return f, false
		}
		f.metadataOnly = true
	default:
		// Tables and aggregated discovery are not served; clients name plain
		// JSON as well.
		return f, false
	}
	for _, info := range mediaTypes() {
		if c.media == "*/*" || c.media == info.MediaType {
			if info.MediaType == runtime.ContentTypeProtobuf && !typed && !f.metadataOnly {
				continue
			}
			f.info = info
			return f, true
		}
	}
	return f, false
}

func notAcceptable(typed bool) error {
	names := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	if typed {
		names = append(names, runtime.ContentTypeProtobuf)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + strings.Join(names, ", "),
	}}
}

func unsupportedMediaType(accepted []string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", "),
	}}
}

// inputFormat reads the Content-Type header of a request with an object.
func inputFormat(contentType string, typed bool) (runtime.SerializerInfo, error) {
	if contentType == "" {
		return jsonFormat.info, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	var names []string
	for _, info := range mediaTypes() {
		if info.MediaType == runtime.ContentTypeProtobuf && !typed {
			continue
		}
		if err == nil && info.MediaType == media {
			return info, nil
		}
		names = append(names, info.MediaType)
	}
	return runtime.SerializerInfo{}, unsupportedMediaType(names)
}

// encode returns the bytes of obj, whose type must be set. It does not use the scheme's versioning
// codec, because that writes the type into the object while it encodes, and the object is shared.
func (f format) encode(obj runtime.Object) ([]byte, error) {
	var buf bytes.Buffer
	if err := f.info.Serializer.Encode(obj, &buf); err != nil {
		return nil, fmt.Errorf("encode %T as %s: %w", obj, f.info.MediaType, err)
	}
	return buf.Bytes(), nil
}

// encodings remembers the bytes of one version in the forms that were asked
// for.
type encodings struct {
	mu    sync.Mutex // guards forms
	forms map[string][]byte
}

// get returns the remembered bytes, or encodes. Two that come at the same time
// may both encode: that costs less than to hold a lock meanwhile.
func (e *encodings) get(form string, encode func() ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	data, ok := e.forms[form]
	e.mu.Unlock()
	if ok {
		return data, nil
	}
	data, err := encode()
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.forms == nil {
		e.forms = map[string][]byte{}
	}
	e.forms[form] = data
	return data, nil
}

// object returns a version as the client wants to see it.
func (f format) object(obj runtime.Object) runtime.Object {
	if _, status := obj.(*metav1.Status); status {
		return obj
	}
	if f.hidesManagers && len(metaOf(obj).GetManagedFields()) > 0 {
		obj = withoutManagedFields(obj)
	}
	if f.metadataOnly {
		return partial(obj)
	}
	return obj
}

// list returns the list of these items, as the client wants to see it.
func (f format) list(res *resource, items []*version, lm metav1.ListMeta) runtime.Object {
	if f.hidesManagers {
		bare := make([]*version, len(items))
		for i, item := range items {
			bare[i] = &version{obj: withoutManagedFields(item.obj)}
		}
		items = bare
	}
	if f.metadataOnly {
		return partialList(items, lm)
	}
	return res.list(items, lm)
}

// encodeVersion encodes a stored version, once per form.
func (f format) encodeVersion(v *version) ([]byte, error) {
	return v.encoded.get(f.form(), func() ([]byte, error) { return f.encode(f.object(v.obj)) })
}

func (f format) form() string {
	if f.metadataOnly {
		return f.info.MediaType + " metadata"
	}
	return f.info.MediaType
}
