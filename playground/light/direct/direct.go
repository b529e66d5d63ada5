// Package direct takes the place of apimachinery's serializer/cbor/direct. Nothing in a page speaks CBOR.
package direct

import "errors"

var errNone = errors.New("there is no CBOR in a page")

// Marshal refuses.
func Marshal(any) ([]byte, error) { return nil, errNone }

// Unmarshal refuses.
func Unmarshal([]byte, any) error { return errNone }
