package client

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// encoding is how objects travel between client and server. All encodings take the same path
// through a client, and send the same requests except for the code in this file.
type encoding int

const (
	// typedObject objects are Go types of the scheme: protobuf for built-in kinds, JSON for others.
	typedObject encoding = iota
	// applyConfig configurations are Go types, too, but only JSON can leave a field out.
	applyConfig
	// unstructuredObject objects are JSON, decoded into maps.
	unstructuredObject
	// metadataObject objects are cut down to their metadata by the server, if the Accept header
	// asks for that.
	metadataObject
)

func encodingOf(obj runtime.Object) encoding {
	switch obj.(type) {
	case runtime.Unstructured:
		return unstructuredObject
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return metadataObject
	default:
		return typedObject
	}
}

// connect returns a connection to the resources of a kind's group and version.
func (e encoding) connect(
	gvk schema.GroupVersionKind, config *rest.Config, codecs serializer.CodecFactory,
	httpClient *http.Client,
) (rest.Interface, error) {
	if e != metadataObject {
		return apiutil.RESTClientForGVK(gvk, e != typedObject, e == unstructuredObject, config,
			codecs, httpClient)
	}
	config = metadata.ConfigFor(config)
	version := gvk.GroupVersion()
	config.GroupVersion, config.APIPath = &version, "/apis"
	if gvk.Group == "" {
		config.APIPath = "/api"
	}
	return rest.RESTClientForConfigAndClient(config, httpClient)
}

// accept sets the request's Accept header for the encoding.
func (e encoding) accept(request *rest.Request, isList bool) *rest.Request {
	if e != metadataObject {
		return request
	}
	as := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	if isList {
		as = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	}
	// Plain JSON is for API servers that don't know how to cut: they send the whole object.
	return request.SetHeader("Accept",
		runtime.ContentTypeProtobuf+as+","+runtime.ContentTypeJSON+as+","+runtime.ContentTypeJSON)
}

// decode stores the answer in obj.
func (e encoding) decode(result rest.Result, obj runtime.Object) error {
	if err := checkKind(result); err != nil {
		return err
	}
	if e != metadataObject {
		return result.Into(obj)
	}
	empty(obj)
	err := result.Into(obj)
	if !runtime.IsNotRegisteredError(err) {
		return err
	}
	// the whole object, of a kind that the decoder doesn't know; result.Error was nil
	raw, _ := result.Raw()
	if err := json.Unmarshal(raw, obj); err != nil {
		return fmt.Errorf("decode the answer as metadata: %w", err)
	}
	return nil
}

// checkKind returns the error of an answer, or one that says that the answer isn't an API server's.
// Those have a kind. client-go takes a proxy's {} for an empty list, and for a write that
// succeeded.
func checkKind(result rest.Result) error {
	if err := result.Error(); err != nil {
		return err
	}
	var code int
	var mediaType string
	body, err := result.StatusCode(&code).ContentType(&mediaType).Raw()
	if err != nil || strings.HasPrefix(mediaType, runtime.ContentTypeProtobuf) {
		return err // protobuf begins with four bytes of its own, and then the kind
	}
	var is metav1.TypeMeta
	if json.Unmarshal(body, &is) == nil && is.Kind == "" { // the decoder finds other mistakes
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return fmt.Errorf("the answer is not an API server's, because it has no kind: %d, %s, %.120q",
			code, mediaType, line)
	}
	return nil
}

// decodeApplied stores the answer in a configuration. It drops the old content: the answer has all
// of it, and a list would be mixed with the new one.
func decodeApplied(result rest.Result, obj runtime.ApplyConfiguration) error {
	if err := checkKind(result); err != nil {
		return err
	}
	if config, ok := obj.(*unstructuredApplyConfiguration); ok {
		return result.Into(config.Unstructured)
	}
	var contentType string
	raw, _ := result.ContentType(&contentType).Raw() // result.Error was nil
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != runtime.ContentTypeJSON {
		return fmt.Errorf("the answer to an apply is %q, and should be JSON", contentType)
	}
	empty(obj)
	return json.Unmarshal(raw, obj)
}

// plainJSON encodes options for a request in the metadata encoding, whose own encoder knows no
// options that a custom resource's server would accept.
func plainJSON(options *metav1.DeleteOptions) ([]byte, error) {
	options.TypeMeta = metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
	data, err := json.Marshal(options)
	return append(data, '\n'), err
}

func empty(pointer any) { reflect.ValueOf(pointer).Elem().SetZero() }

// keepKind returns a function that gives obj back its present kind, if it has one. Decoders drop
// it.
func keepKind(obj runtime.Object) func() {
	gvk := obj.GetObjectKind().GroupVersionKind()
	return func() {
		if !gvk.Empty() {
			obj.GetObjectKind().SetGroupVersionKind(gvk)
		}
	}
}

// keepListKind does the same for a list, and gives the items the kind that follows from it.
func keepListKind(list *metav1.PartialObjectMetadataList) func() {
	gvk := itemKind(list, list.GroupVersionKind())
	keep := keepKind(list)
	return func() {
		keep()
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(gvk)
		}
	}
}

// itemKind returns the kind of a list's items. An object's kind stays: it may be a PriceList, with
// items.
func itemKind(obj runtime.Object, gvk schema.GroupVersionKind) schema.GroupVersionKind {
	if _, isObject := obj.(Object); !isObject {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	return gvk
}

// queryCodec writes options into the query of a URL. They're the same in all versions of all
// groups, so there's nothing to convert, and no scheme has to know them.
type queryCodec struct{}

// EncodeParameters implements runtime.ParameterCodec.
func (queryCodec) EncodeParameters(obj runtime.Object, _ schema.GroupVersion) (url.Values, error) {
	return queryparams.Convert(obj)
}

// DecodeParameters implements runtime.ParameterCodec.
func (queryCodec) DecodeParameters(url.Values, schema.GroupVersion, runtime.Object) error {
	return fmt.Errorf("a client reads no queries")
}
