// Command 11-cache has a controller of Websites that reads from a cache.
package main

import (
	"github.com/loopwright/loopwright/chapters/11-cache/shops"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 11: the cache", shops.Story(client)) }

// client reads from the cache, and sees everything that it has written to the API server.
func client(cache *mini.Cache) *mini.CachedClient {
	return mini.NewCachedClient(cache)
}
