package workqueue

import (
	"fmt"
	"strings"
)

// Causes says why an item has to be worked on: how many adds were merged into this piece of work,
// and the first few different reasons that came with them.
//
// Reasons aren't a part of an item's identity: two adds of one item with different reasons are one
// piece of work.
type Causes struct {
	// Count is the number of adds, with a reason or without.
	Count int
	first reason
	// more holds the second and later reasons. It's a pointer because most items
	// have one reason, and a queue may hold a million items.
	more *[keptReasons - 1]reason
}

// keptReasons bounds how many reasons an item can collect that is added again and again.
const keptReasons = 4

// reason is why an item was added. Most reasons are never read, so it becomes a text only when
// somebody reads it.
type reason struct {
	text  string
	about Subject
}

// Subject is the namespace and name of an object that a reason is about.
type Subject struct{ Namespace, Name string }

// String puts the subject where the text has a place for it.
func (r reason) String() string {
	if r.about == (Subject{}) {
		return r.text
	}
	key := r.about.Name
	if r.about.Namespace != "" {
		key = r.about.Namespace + "/" + key
	}
	return strings.Replace(r.text, "*", key, 1)
}

// because is the cause of a single add.
func because(text string) Causes { return Causes{Count: 1, first: reason{text: text}} }

// merge adds the causes of a later add.
func (c *Causes) merge(later Causes) {
	c.Count += later.Count
	if later.first.text == "" {
		return
	}
	c.note(later.first)
	if later.more != nil {
		for _, r := range later.more {
			c.note(r)
		}
	}
}

// note keeps a reason, if it's a new one and there's room.
func (c *Causes) note(r reason) {
	switch {
	case r.text == "" || r == c.first:
		return
	case c.first.text == "":
		c.first = r
		return
	case c.more == nil:
		c.more = new([keptReasons - 1]reason)
	}
	for i, kept := range c.more {
		if kept == r {
			return
		}
		if kept.text == "" {
			c.more[i] = r
			return
		}
	}
}

// Reasons are the first few different reasons, in the order in which they came.
func (c Causes) Reasons() []string {
	if c.first.text == "" {
		return nil
	}
	reasons := []string{c.first.String()}
	if c.more != nil {
		for _, r := range c.more {
			if r.text != "" {
				reasons = append(reasons, r.String())
			}
		}
	}
	return reasons
}

// String is for a log line: "spec changed, pod deleted (7 adds)".
func (c Causes) String() string {
	text := strings.Join(c.Reasons(), ", ")
	switch {
	case c.Count <= 1:
		return text
	case text == "":
		return fmt.Sprintf("%d adds", c.Count)
	default:
		return fmt.Sprintf("%s (%d adds)", text, c.Count)
	}
}
