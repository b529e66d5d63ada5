package informer

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/tools/metrics"
)

// do sends the request and reports it to client-go's metrics, as client-go's own clients do: one metric has all requests of a
// program. manager/metrics registers there; in a program without it, nothing is counted.
//
//	                 a list                       a watch
//	result           code, or "<error>"           the same
//	sizes, latency   when its body is closed      not: it goes on for minutes
func (e *endpoint) do(request *http.Request, watch bool) (*http.Response, error) {
	begin := time.Now()
	ctx, verb, host := request.Context(), request.Method, e.collection.Host
	response, err := e.client.Do(request.WithContext(httptrace.WithClientTrace(ctx, resolved(request))))
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
		metrics.RequestLatency.Observe(ctx, verb, e.collection, time.Since(begin))
		return nil, err
	}
	response.Body = &measured{ReadCloser: response.Body, closed: func(size int) {
		metrics.RequestLatency.Observe(ctx, verb, e.collection, time.Since(begin))
		metrics.ResponseSize.Observe(ctx, verb, host, float64(size))
	}}
	return response, nil
}

// resolved reports how long it takes to find the address of a host, if the request needs a new connection.
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

// measured is a body that reports how large it was when it is closed, which is once.
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
