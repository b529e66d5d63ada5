package informer

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// wire is the HTTP under a ListWatch. There is not much to it: list and watch
// are both a GET of the collection's URL.
//
//	GET /api/v1/namespaces/default/pods?limit=500
//	GET /api/v1/namespaces/default/pods?watch=1&resourceVersion=10245
type wire struct {
	client     *http.Client
	collection url.URL
	resource   schema.GroupVersionResource
	accept     string
	negotiator runtime.ClientNegotiator
	selectors  metav1.ListOptions
	namespace  string
}

const (
	jsonType     = runtime.ContentTypeJSON
	protobufType = runtime.ContentTypeProtobuf
)

func newWire(config *rest.Config, resource schema.GroupVersionResource, options ListWatchOptions) (*wire, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // it would cut every watch; a caller's context bounds a request
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making an HTTP client: %w", err)
	}
	collection, err := collectionURL(config, resource, options.Namespace)
	if err != nil {
		return nil, err
	}
	accept := protobufType + "," + jsonType // custom resources have no protobuf
	if options.JSON {
		accept = jsonType
	}
	codecs := serializer.NewCodecFactory(options.Scheme).WithoutConversion()
	return &wire{
		client: client, collection: *collection, resource: resource, accept: accept, namespace: options.Namespace,
		negotiator: runtime.NewClientNegotiator(codecs, resource.GroupVersion()),
		selectors:  metav1.ListOptions{LabelSelector: options.LabelSelector, FieldSelector: options.FieldSelector},
	}, nil
}

// collectionURL is the path that the API convention gives a collection. The
// core group, which came first, has a place of its own.
func collectionURL(config *rest.Config, resource schema.GroupVersionResource, namespace string) (*url.URL, error) {
	root := "/apis"
	if resource.Group == "" {
		root = "/api"
	}
	tls := rest.IsConfigTransportTLS(*config)
	base, path, err := rest.DefaultServerURL(config.Host, root, resource.GroupVersion(), tls)
	if err != nil {
		return nil, fmt.Errorf("reading the server's address %q: %w", config.Host, err)
	}
	base = base.JoinPath(path) // after the path of a gateway, if there is one
	if namespace != "" {
		base = base.JoinPath("namespaces", namespace)
	}
	return base.JoinPath(resource.Resource), nil
}

func (w *wire) String() string {
	if w.namespace == "" {
		return w.resource.Resource
	}
	return w.resource.Resource + " in namespace " + w.namespace
}

// get sends the request and returns the body of a success with its media type.
// The caller closes the body. Any other answer becomes an error.
func (w *wire) get(ctx context.Context, options metav1.ListOptions) (io.ReadCloser, string, error) {
	options.LabelSelector, options.FieldSelector = w.selectors.LabelSelector, w.selectors.FieldSelector
	query, err := metav1.ParameterCodec.EncodeParameters(&options, metav1.SchemeGroupVersion)
	if err != nil {
		return nil, "", fmt.Errorf("encoding the options: %w", err)
	}
	target := w.collection
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Accept", w.accept)
	response, err := w.client.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, "", err
	}
	mediaType := response.Header.Get("Content-Type")
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, "", w.refusal(response, mediaType)
	}
	return response.Body, mediaType, nil
}

// decodeAll reads a body to its end and closes it.
func (w *wire) decodeAll(body io.ReadCloser, mediaType string) (runtime.Object, error) {
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return w.decode(content, mediaType)
}

func (w *wire) decode(content []byte, mediaType string) (runtime.Object, error) {
	base, parameters, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return nil, fmt.Errorf("reading the answer's content type %q: %w", mediaType, err)
	}
	decoder, err := w.negotiator.Decoder(base, parameters)
	if err != nil {
		return nil, fmt.Errorf("the answer is %q, which has no decoder: %w", mediaType, err)
	}
	object, _, err := decoder.Decode(content, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decoding the answer: %w", err)
	}
	return object, nil
}

// maxRefusal bounds what is read of an error's body, in bytes. An API server's
// is a few hundred; a proxy in between may send a whole page.
const maxRefusal = 64 << 10

// refusal turns an answer that is no success into an error. An API server
// explains itself with a Status object; what stands in its way may not.
func (w *wire) refusal(response *http.Response, mediaType string) error {
	content, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	var err error
	if object, decodeErr := w.decode(content, mediaType); decodeErr == nil {
		if status, ok := object.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
			err = &apierrors.StatusError{ErrStatus: *status}
		}
	}
	wait, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	if err == nil {
		said, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
		err = apierrors.NewGenericServerResponse(response.StatusCode, "get", w.resource.GroupResource(), "", "", wait, true)
		return fmt.Errorf("%w: %d, %q", err, response.StatusCode, said)
	}
	// The header tells how long to wait when the Status does not.
	status := err.(*apierrors.StatusError)
	if _, said := apierrors.SuggestsClientDelay(status); !said && wait > 0 {
		if status.ErrStatus.Details == nil {
			status.ErrStatus.Details = &metav1.StatusDetails{}
		}
		status.ErrStatus.Details.RetryAfterSeconds = int32(min(wait, 1<<20))
	}
	return err
}
