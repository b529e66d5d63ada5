// Package conversion turns objects of one version of a kind into another.
//
// A Registry holds one Converter for each kind. A manager has one, and its conversion webhook asks it.
//
// Neighbours: below it is nothing but the types of a kind's name. Above it is the manager.
package conversion

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Converter fills dst, an object of another version, with what src has.
type Converter interface {
	ConvertObject(ctx context.Context, src, dst runtime.Object) error
}

// Registry has the converters by kind. It may be used from several goroutines.
type Registry interface {
	// RegisterConverter returns an error if the kind has a converter.
	RegisterConverter(gk schema.GroupKind, converter Converter) error
	GetConverter(gk schema.GroupKind) (Converter, bool)
}

// NewRegistry returns an empty Registry.
func NewRegistry() Registry { return &registry{converters: map[schema.GroupKind]Converter{}} }

type registry struct {
	mu         sync.RWMutex // guards converters
	converters map[schema.GroupKind]Converter
}

// RegisterConverter implements Registry.
func (r *registry) RegisterConverter(gk schema.GroupKind, converter Converter) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.converters[gk]; taken {
		return fmt.Errorf("%s has a converter already: register one for each kind", gk)
	}
	r.converters[gk] = converter
	return nil
}

// GetConverter implements Registry.
func (r *registry) GetConverter(gk schema.GroupKind) (Converter, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	converter, found := r.converters[gk]
	return converter, found
}
