// Package cacheapi has other names for types of packages cache and client, for programs that import
// controller-runtime's package of this name. There it breaks an import cycle between these two
// packages, which don't have one here.
package cacheapi

import (
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// The types are documented where they are declared.
type (
	Informers          = cache.Informers
	Informer           = cache.Informer
	InformerGetOptions = cache.InformerGetOptions
	InformerGetOption  = cache.InformerGetOption
	Object             = client.Object
	IndexerFunc        = client.IndexerFunc
	FieldIndexer       = client.FieldIndexer
)

// BlockUntilSynced is cache.BlockUntilSynced.
func BlockUntilSynced(shouldBlock bool) InformerGetOption {
	return cache.BlockUntilSynced(shouldBlock)
}
