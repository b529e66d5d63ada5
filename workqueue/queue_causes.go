package workqueue

import (
	"fmt"
	"strings"
)

// Causes is why an item has to be worked on: how many adds were merged into this
// piece of work, and the first few different reasons that came with them.
//
// Reasons are no part of an item's identity: two adds of one item with different
// reasons are one piece of work.
type Causes struct {
	// Count is the number of adds, with a reason or without.
	Count int
	first string
	// more holds the second and later reasons. It is a pointer because most items
	// have one reason, and a queue may hold a million items.
	more *[keptReasons - 1]string
}

// keptReasons bounds what an item that is added again and again can collect.
const keptReasons = 4

// because is the cause of a single add.
func because(reason string) Causes { return Causes{Count: 1, first: reason} }

// merge adds the causes of a later add.
func (c *Causes) merge(later Causes) {
	c.Count += later.Count
	if later.first == "" {
		return
	}
	c.note(later.first)
	if later.more != nil {
		for _, reason := range later.more {
			c.note(reason)
		}
	}
}

// note keeps a reason, if it is a new one and there is room.
func (c *Causes) note(reason string) {
	switch {
	case reason == "" || reason == c.first:
		return
	case c.first == "":
		c.first = reason
		return
	case c.more == nil:
		c.more = new([keptReasons - 1]string)
	}
	for i, kept := range c.more {
		if kept == reason {
			return
		}
		if kept == "" {
			c.more[i] = reason
			return
		}
	}
}

// Reasons are the first few different reasons, in the order in which they came.
func (c Causes) Reasons() []string {
	if c.first == "" {
		return nil
	}
	reasons := []string{c.first}
	if c.more != nil {
		for _, reason := range c.more {
			if reason != "" {
				reasons = append(reasons, reason)
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
