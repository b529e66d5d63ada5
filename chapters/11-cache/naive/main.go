// Command naive has a controller of Websites that reads from the cache, whatever it
// shows.
package main

import (
	"github.com/loopwright/loopwright/chapters/11-cache/shops"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 11, naive: read from the cache", shops.Story(client))
}

// client reads from the cache, and writes to the API server.
func client(cache *mini.Cache) *mini.CachedClient {
	c := mini.NewCachedClient(cache)
	c.Wrote = nil // reads don't know of writes
	return c
}
