// Package openapiv2 takes the place of gnostic's, of which client-go's discovery needs a name.
package openapiv2

// Document is none.
type Document struct{}
