package website

import (
	"context"
	"fmt"
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
	c.mu.Unlock()
	c.Say("%s has uploaded %q.", by, page)
	c.mu.Lock()
	c.uploaded++ // only now: the story goes on
	c.mu.Unlock()
}

// Remove removes the page of a Website, if there is one. It takes a second. If ctx ends first, the
// page stays.
func (c *CDN) Remove(ctx context.Context, by string, site mini.Request) error {
	page := c.Shows(site)
	if page == "" {
		return nil
	}
	c.Say("%s begins to remove %q.", by, page)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return fmt.Errorf("removing the page of %s from the CDN: %w", site, ctx.Err())
	}
	c.mu.Lock()
	delete(c.pages, site)
	c.mu.Unlock()
	c.Say("%s has removed %q.", by, page)
	return nil
}

// Uploaded is how many uploads have ended.
func (c *CDN) Uploaded() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uploaded
}
