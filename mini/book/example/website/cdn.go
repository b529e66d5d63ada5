package website

import (
	"sync"
	"time"

	"github.com/loopwright/loopwright/mini"
)

// CDN plays a content delivery network: machines outside of the cluster that keep a copy of each
// page near its visitors. It knows nothing of Kubernetes.
type CDN struct {
	Say func(format string, args ...any) // prints what happens

	mu       sync.Mutex // guards all below
	pages    map[mini.Request]string
	begun    map[mini.Request]bool // Websites whose pictures are there, or on their way
	uploaded int
}

// NewCDN returns a CDN without pages.
func NewCDN(say func(format string, args ...any)) *CDN {
	return &CDN{Say: say, pages: map[mini.Request]string{}, begun: map[mini.Request]bool{}}
}

// Shows returns the page that visitors see.
func (c *CDN) Shows(site mini.Request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pages[site]
}

// Upload uploads a page, which takes a second; the first one comes with the pictures of the
// Website, which takes six. It has no context: half a page is worse than an old one.
func (c *CDN) Upload(by string, site mini.Request, page string) {
	c.mu.Lock()
	takes := 6 * time.Second
	if c.begun[site] {
		takes = time.Second
	}
	c.begun[site] = true
	c.mu.Unlock()
	c.Say("%s begins to upload %q.", by, page)
	time.Sleep(takes)
	c.mu.Lock()
	c.pages[site] = page
	c.uploaded++
	c.mu.Unlock()
	c.Say("%s has uploaded %q.", by, page)
}

// Uploaded is how many uploads have ended.
func (c *CDN) Uploaded() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uploaded
}
