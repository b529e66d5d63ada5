// Package cert takes the place of client-go's util/cert. There is no TLS in a page.
package cert

import "errors"

// NewPool refuses.
func NewPool(string) (any, error) { return nil, errors.New("there is no TLS in a page") }
