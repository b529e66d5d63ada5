// Package conversion has the interfaces with which a kind's Go types convert themselves between the
// kind's versions.
//
// One version is the hub. Every other version, a spoke, can turn itself into the hub and back. So a
// kind with n versions needs n-1 pairs of functions instead of n*(n-1) functions.
//
// Neighbours: above it is webhook/conversion, which answers the API server with what these methods
// do.
package conversion

import "k8s.io/apimachinery/pkg/runtime"

// Convertible is a spoke: a version that knows how it becomes the hub, and how it is made from it.
//
// Both methods fill their receiver or argument completely, the metadata too. The API server refuses
// an object that comes back with another name, namespace or UID.
type Convertible interface {
	runtime.Object
	// ConvertTo writes what the receiver says into dst.
	ConvertTo(dst Hub) error
	// ConvertFrom writes what src says into the receiver.
	ConvertFrom(src Hub) error
}

// Hub is the version that all conversions go through. The method does nothing; it's a mark.
type Hub interface {
	runtime.Object
	Hub()
}
