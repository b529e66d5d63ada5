// Package alone takes the place of internal/demo/alone, which probes a cluster for other controllers
// with the library's. In a page there are none.
package alone

import (
	"context"

	"github.com/loopwright/loopwright/internal/demo"
)

// Story returns the story.
func Story(story func(context.Context, *demo.Demo) error, _ ...string) func(context.Context, *demo.Demo) error {
	return story
}
