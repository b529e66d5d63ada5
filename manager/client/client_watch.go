package client

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// NewWithWatch is New for a client that also watches.
func NewWithWatch(config *rest.Config, options Options) (WithWatch, error) {
	live, c, err := newClient(config, options)
	if err != nil {
		return nil, err
	}
	return &watchingClient{c, live}, nil
}

type watchingClient struct {
	Client
	live *liveClient
}

// Watch implements WithWatch. It always goes to the server.
func (w *watchingClient) Watch(ctx context.Context, list ObjectList, opts ...ListOption) (watch.Interface, error) {
	t, err := w.live.endpoints.ofObject(list)
	if err != nil {
		return nil, err
	}
	options := (&ListOptions{}).ApplyOptions(opts)
	if options.selectsNothing() {
		return nil, errors.New("watch: the selector matches no object, and never will")
	}
	options.Raw = copyOf(options.Raw)
	options.Raw.Watch = true
	t.namespace = options.Namespace
	request := t.form.accept(t.to(t.Get()).VersionedParams(options.AsListOptions(), queryCodec{}), false)
	if seconds := options.Raw.TimeoutSeconds; t.form == formMetadata && seconds != nil {
		request.Timeout(time.Duration(*seconds) * time.Second)
	}
	return request.Watch(ctx)
}
