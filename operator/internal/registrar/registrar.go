// Package registrar talks to the service that gives sites their hosts. It is outside of the cluster, so
// nobody cleans up there but the operator.
package registrar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// ErrRefused says that the registrar does not accept the token.
var ErrRefused = errors.New("the registrar does not accept the token")

// Client is a registrar's client.
type Client struct {
	// URL is where the registrar is.
	URL string
	// HTTP sends the requests. nil stands for http.DefaultClient.
	HTTP *http.Client
}

// Register says that a host belongs to a site. To say so again does no harm.
func (c *Client) Register(ctx context.Context, host, site, token string) error {
	return c.do(ctx, http.MethodPut, host, site, token)
}

// Unregister gives a host back. It need not be registered.
func (c *Client) Unregister(ctx context.Context, host, token string) error {
	return c.do(ctx, http.MethodDelete, host, "", token)
}

func (c *Client) do(ctx context.Context, method, host, body, token string) (err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+"/hosts/"+url.PathEscape(host), strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("calling the registrar: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)); err != nil {
		return fmt.Errorf("calling the registrar: %w", err)
	}
	switch {
	case response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusUnauthorized:
		return ErrRefused
	case response.StatusCode >= 300 && (method != http.MethodDelete || response.StatusCode != http.StatusNotFound):
		return fmt.Errorf("the registrar answers %s", response.Status)
	}
	return nil
}
