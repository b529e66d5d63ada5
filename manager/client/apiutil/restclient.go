package apiutil

import (
	"errors"
	"net/http"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

var errNoHTTPClient = errors.New("an HTTP client is needed; rest.HTTPClientFor makes one from " +
	"the configuration")

// protobufKinds are the kinds that travel as protobuf. Servers support it for the kinds that are
// compiled into them, and not for custom resources.
var protobufKinds = struct {
	mu     sync.RWMutex // guards scheme
	scheme *runtime.Scheme
}{scheme: runtime.NewScheme()}

// The built-in kinds are known when the package is loaded. An error here would be client-go's.
func init() {
	if err := AddToProtobufScheme(clientgoscheme.AddToScheme); err != nil {
		panic(err)
	}
}

// AddToProtobufScheme makes more kinds travel as protobuf: those of an aggregated API server, whose
// Go types have the methods for it.
func AddToProtobufScheme(addToScheme func(*runtime.Scheme) error) error {
	protobufKinds.mu.Lock()
	defer protobufKinds.mu.Unlock()
	return addToScheme(protobufKinds.scheme)
}

func travelsAsProtobuf(gvk schema.GroupVersionKind) bool {
	protobufKinds.mu.RLock()
	defer protobufKinds.mu.RUnlock()
	return protobufKinds.scheme.Recognizes(gvk)
}

// RESTClientForGVK returns a connection to the resources of the kind's group and version. Built-in
// kinds travel as protobuf, unless you forbid it, the objects are unstructured, or the
// configuration sets a content type. A read empties the object first, so none of its old fields
// stay.
//
// If you forbid protobuf, that also overrides a protobuf content type in the configuration. In
// controller-runtime it doesn't, and an Apply to a cluster with such a configuration fails.
func RESTClientForGVK(
	gvk schema.GroupVersionKind, forceDisableProtoBuf, isUnstructured bool, baseConfig *rest.Config,
	codecs serializer.CodecFactory, httpClient *http.Client,
) (rest.Interface, error) {
	if httpClient == nil {
		return nil, errNoHTTPClient
	}
	config := rest.CopyConfig(baseConfig)
	version := gvk.GroupVersion()
	config.GroupVersion, config.APIPath = &version, "/apis"
	if gvk.Group == "" {
		config.APIPath = "/api"
	}
	switch {
	case isUnstructured:
		config = dynamic.ConfigFor(config)
		return rest.RESTClientForConfigAndClient(config, httpClient)
	case !forceDisableProtoBuf && config.ContentType == "" && travelsAsProtobuf(gvk):
		config.ContentType = runtime.ContentTypeProtobuf
	case forceDisableProtoBuf && config.ContentType == runtime.ContentTypeProtobuf:
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, ""
	}
	plain := serializer.WithoutConversionCodecFactory{CodecFactory: codecs}
	config.NegotiatedSerializer = emptyingSerializer{plain}
	return rest.RESTClientForConfigAndClient(config, httpClient)
}

// emptyingSerializer is a serializer whose decoders empty the object that they decode into.
// Otherwise a field that the answer doesn't have would keep its old value, because JSON is merged
// into the object.
type emptyingSerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s emptyingSerializer) DecoderToVersion(
	decoder runtime.Decoder, version runtime.GroupVersioner,
) runtime.Decoder {
	return emptyingDecoder{s.NegotiatedSerializer.DecoderToVersion(decoder, version)}
}

type emptyingDecoder struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (d emptyingDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero()
	}
	return d.Decoder.Decode(data, defaults, into)
}
