package informer

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
)

// restClient is the HTTP part of a ListWatch. It's small: list and watch are both a
// GET of the collection's URL.
//
//	GET /api/v1/namespaces/default/pods?limit=500
//	GET /api/v1/namespaces/default/pods?watch=1&resourceVersion=10245
type restClient struct {
	http       *http.Client
	collection url.URL
	resource   schema.GroupVersionResource
	// Accept headers:
	listTypes, watchTypes string

	negotiator runtime.ClientNegotiator
	selectors  metav1.ListOptions
	namespace  string
}

const (
	jsonType     = runtime.ContentTypeJSON
	protobufType = runtime.ContentTypeProtobuf
)

func newRESTClient(
	config *rest.Config, resource schema.GroupVersionResource, options ListWatchOptions,
) (*restClient, error) {
	client := options.HTTPClient
	if client == nil {
		made, err := newHTTPClient(config)
		if err != nil {
			return nil, err
		}
		client = made
	} else if client.Timeout > 0 {
		patient := *client // shares the connections
		patient.Timeout = 0
		client = &patient
	}
	collection, err := collectionURL(config, resource, options.Namespace)
	if err != nil {
		return nil, err
	}
	// for objects without a Go type: it knows what a Status is, and their scheme may be empty
	codecs := scheme.Codecs
	if options.Form == FormTyped {
		codecs = serializer.NewCodecFactory(options.Scheme)
	}
	return &restClient{
		http: client, collection: *collection, resource: resource, namespace: options.Namespace,
		listTypes:  mediaTypes(options, metadataKind.Kind+"List"),
		watchTypes: mediaTypes(options, metadataKind.Kind),
		negotiator: runtime.NewClientNegotiator(codecs.WithoutConversion(), resource.GroupVersion()),
		selectors: metav1.ListOptions{LabelSelector: options.LabelSelector,
			FieldSelector: options.FieldSelector},
	}, nil
}

// newHTTPClient returns a client for lists and watches.
func newHTTPClient(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // it would cut every watch; a caller's context bounds a request
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making an HTTP client: %w", err)
	}
	return client, nil
}

// mediaTypes is the Accept header: the possible formats of the answer, best first. partial is the
// kind of an answer that has only metadata.
func mediaTypes(options ListWatchOptions, partial string) string {
	types := []string{protobufType, jsonType} // custom resources have no protobuf
	if options.JSON || options.Form == FormUnstructured {
		types = types[1:]
	}
	if options.Form != FormMetadata {
		return strings.Join(types, ",")
	}
	for i := range types {
		types[i] += ";as=" + partial + ";g=" + metadataKind.Group + ";v=" + metadataKind.Version
	}
	// A server that doesn't know the form sends whole objects, and we take the metadata out of
	// them. It must be JSON: in protobuf, only the generated type of an object knows its fields.
	return strings.Join(append(types, jsonType), ",")
}

// collectionURL is the path that the API convention gives a collection. The core group, which came
// first, has its own place.
func collectionURL(
	config *rest.Config, resource schema.GroupVersionResource, namespace string,
) (*url.URL, error) {
	root := "/apis"
	if resource.Group == "" {
		root = "/api"
	}
	tls := rest.IsConfigTransportTLS(*config)
	base, path, err := rest.DefaultServerURL(config.Host, root, resource.GroupVersion(), tls)
	if err != nil {
		return nil, fmt.Errorf("reading the server's address %q: %w", config.Host, err)
	}
	base = base.JoinPath(path) // after the path of a gateway, if there's one
	if namespace != "" {
		base = base.JoinPath("namespaces", namespace)
	}
	return base.JoinPath(resource.Resource), nil
}

func (c *restClient) String() string {
	if c.namespace == "" {
		return c.resource.Resource
	}
	return c.resource.Resource + " in namespace " + c.namespace
}

// get sends the request and returns the body of a successful answer with its media type. The caller
// closes the body. Any other answer becomes an error.
func (c *restClient) get(
	ctx context.Context, options metav1.ListOptions,
) (io.ReadCloser, string, error) {
	options.LabelSelector, options.FieldSelector = c.selectors.LabelSelector, c.selectors.FieldSelector
	query, err := metav1.ParameterCodec.EncodeParameters(&options, metav1.SchemeGroupVersion)
	if err != nil {
		return nil, "", fmt.Errorf("encoding the options: %w", err)
	}
	address := c.collection
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Accept", c.listTypes)
	if options.Watch {
		request.Header.Set("Accept", c.watchTypes)
	}
	response, err := c.do(request, options.Watch)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, "", err
	}
	mediaType := response.Header.Get("Content-Type")
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, "", c.answerError(response, mediaType)
	}
	return response.Body, mediaType, nil
}

// decodeAll reads a body to its end and closes it.
func (c *restClient) decodeAll(body io.ReadCloser, mediaType string) (runtime.Object, error) {
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return c.decode(content, mediaType)
}

func (c *restClient) decode(content []byte, mediaType string) (runtime.Object, error) {
	base, parameters, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return nil, fmt.Errorf("reading the answer's content type %q: %w", mediaType, err)
	}
	decoder, err := c.negotiator.Decoder(base, parameters)
	if err != nil {
		return nil, fmt.Errorf("the answer is %q, which has no decoder: %w", mediaType, err)
	}
	object, _, err := decoder.Decode(content, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decoding the answer: %w", err)
	}
	return object, nil
}

// maxRefusal bounds how much we read of an error's body, in bytes. An API server's has a few
// hundred; a proxy in between may send a whole page.
const maxRefusal = 64 << 10

// answerError turns an answer that isn't a success into an error. An API server
// explains itself with a Status object; a proxy in front of it may not.
func (c *restClient) answerError(response *http.Response, mediaType string) error {
	content, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	var err error
	if object, decodeErr := c.decode(content, mediaType); decodeErr == nil {
		if status, ok := object.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
			err = &apierrors.StatusError{ErrStatus: *status}
		}
	}
	wait, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	if err == nil {
		said, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
		err = apierrors.NewGenericServerResponse(response.StatusCode, "get", c.resource.GroupResource(),
			"", "", wait, true)
		return fmt.Errorf("%w: %d, %q", err, response.StatusCode, said)
	}
	// The header says how long to wait if the Status doesn't.
	status := err.(*apierrors.StatusError)
	if _, said := apierrors.SuggestsClientDelay(status); !said && wait > 0 {
		if status.ErrStatus.Details == nil {
			status.ErrStatus.Details = &metav1.StatusDetails{}
		}
		status.ErrStatus.Details.RetryAfterSeconds = int32(min(wait, 1<<20))
	}
	return err
}

// do sends the request and reports it to client-go's metrics, as client-go's own clients do: all
// requests of a program share a metric. manager/metrics registers there; in a program without it,
// nothing is counted.
//
//	                 a list                       a watch
//	result           code, or "<error>"           the same
//	sizes, latency   when its body is closed      not: it goes on for minutes
func (c *restClient) do(request *http.Request, watch bool) (*http.Response, error) {
	begin := time.Now()
	ctx, verb, host := request.Context(), request.Method, c.collection.Host
	response, err := c.http.Do(request.WithContext(httptrace.WithClientTrace(ctx, resolved(request))))
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	metrics.RequestResult.Increment(ctx, code, verb, host)
	if watch {
		return response, err
	}
	metrics.RequestSize.Observe(ctx, verb, host, 0)
	if err != nil {
		metrics.RequestLatency.Observe(ctx, verb, c.collection, time.Since(begin))
		return nil, err
	}
	response.Body = &measured{ReadCloser: response.Body, closed: func(size int) {
		metrics.RequestLatency.Observe(ctx, verb, c.collection, time.Since(begin))
		metrics.ResponseSize.Observe(ctx, verb, host, float64(size))
	}}
	return response, nil
}

// resolved reports how long it takes to find the address of a host, if the request needs a new
// connection.
func resolved(request *http.Request) *httptrace.ClientTrace {
	var mu sync.Mutex // another goroutine makes the connection
	var host string
	var begin time.Time
	return &httptrace.ClientTrace{
		DNSStart: func(info httptrace.DNSStartInfo) {
			mu.Lock()
			defer mu.Unlock()
			host, begin = info.Host, time.Now()
		},
		DNSDone: func(httptrace.DNSDoneInfo) {
			mu.Lock()
			defer mu.Unlock()
			metrics.ResolverLatency.Observe(request.Context(), host, time.Since(begin))
		},
	}
}

// measured is a body that reports how large it was when it's closed, which is once.
type measured struct {
	io.ReadCloser
	size   int
	closed func(size int)
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.size += n
	return n, err
}

func (m *measured) Close() error {
	m.closed(m.size)
	return m.ReadCloser.Close()
}
