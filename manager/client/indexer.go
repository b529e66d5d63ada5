package client

import "context"

// IndexerFunc returns the values under which an object can be found: none, one or several. It
// must be pure: the same object always has the same values. Namespaces are added by whoever
// calls it.
type IndexerFunc func(Object) []string

// FieldIndexer makes objects findable by a field, as far as a cache is concerned: a field
// selector that asks for one value of the field is answered from the index.
//
// The API server does not know the index. A read that does not go through the cache can use only
// the fields that the server can select by.
type FieldIndexer interface {
	// IndexField adds an index to the kind of obj. It belongs to the cache, and not to one informer:
	// it is there again when the informer is.
	IndexField(ctx context.Context, obj Object, field string, extractValue IndexerFunc) error
}
