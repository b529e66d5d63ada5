// Package proto takes the place of google.golang.org/protobuf/proto in client-go's discovery, which
// decodes OpenAPI with it. Nothing in a page asks for that.
package proto

import "errors"

// Unmarshal refuses.
func Unmarshal([]byte, any) error { return errors.New("there is no protobuf in a page") }
