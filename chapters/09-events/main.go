// Command 09-events has a controller that knows who has to wake it.
package main

import (
	"github.com/loopwright/loopwright/chapters/09-events/debugging"
	"github.com/loopwright/loopwright/chapters/09-events/website"
	"github.com/loopwright/loopwright/internal/demo"
)

var story = debugging.Story(website.New, website.New)

func main() { demo.Main("Chapter 9: events", story) }
