// Package openapi takes the place of client-go's, of which discovery needs the names. Nothing in a page
// asks for the documents, and the API server in memory has none.
package openapi

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"
)

// GroupVersion is a document.
type GroupVersion interface {
	Schema(contentType string) ([]byte, error)
	ServerRelativeURL() string
}

// GroupVersionWithContext is a document.
type GroupVersionWithContext interface {
	SchemaWithContext(ctx context.Context, contentType string) ([]byte, error)
	ServerRelativeURL() string
}

// ToGroupVersionWithContext is never called: there are no documents.
func ToGroupVersionWithContext(GroupVersion) GroupVersionWithContext { return nil }

// Client lists the documents.
type Client interface {
	Paths() (map[string]GroupVersion, error)
}

// ClientWithContext lists the documents.
type ClientWithContext interface {
	PathsWithContext(ctx context.Context) (map[string]GroupVersionWithContext, error)
}

var errNone = errors.New("there is no OpenAPI in a page")

type none struct{}

func (none) Paths() (map[string]GroupVersion, error) { return nil, errNone }

func (none) PathsWithContext(context.Context) (map[string]GroupVersionWithContext, error) {
	return nil, errNone
}

// NewClient returns a client that finds none.
func NewClient(rest.Interface) Client { return none{} }

// NewClientWithContext returns a client that finds none.
func NewClientWithContext(rest.Interface) ClientWithContext { return none{} }
