package website

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// CDN plays a content delivery network. It chooses the ids of its pages, and each page that is open costs
// money. It knows nothing of Kubernetes, but a page can carry a tag.
type CDN struct {
	Say func(format string, args ...any) // prints what happens; nil prints nothing

	mu     sync.Mutex // guards all below
	opened int
	pages  map[string]*page // by id
}

type page struct {
	tag  types.UID
	text string
}

// NewCDN returns a CDN without pages.
func NewCDN() *CDN { return &CDN{pages: map[string]*page{}} }

// Open opens a page and returns its id. It opens another one when it's called again.
func (c *CDN) Open(tag types.UID) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	id = fmt.Sprint("page-", c.opened)
	c.pages[id] = &page{tag: tag}
	c.say("The CDN has opened %s.", id)
	return id
}

// Find returns the id of an open page with this tag, or "".
func (c *CDN) Find(tag types.UID) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.pages)) {
		if c.pages[id].tag == tag {
			return id
		}
	}
	return ""
}

// Put changes what a page shows.
func (c *CDN) Put(id, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages[id] == nil {
		return fmt.Errorf("the CDN has no %s", id)
	}
	c.pages[id].text = text
	return nil
}

// Close closes a page for good.
func (c *CDN) Close(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pages, id)
	c.say("The CDN has closed %s.", id)
}

// Shows returns what visitors of a page see.
func (c *CDN) Shows(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pages[id]; p != nil {
		return p.text
	}
	return ""
}

// Count returns how many pages are open.
func (c *CDN) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pages)
}

func (c *CDN) say(format string, args ...any) {
	if c.Say != nil {
		c.Say(format, args...)
	}
}
