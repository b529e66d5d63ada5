// Command 15-finalizer removes the page of a Website before the Website is gone.
package main

import (
	"github.com/loopwright/loopwright/chapters/15-finalizer/closing"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 15: finalizers", closing.Story(wrap)) }

// wrap makes the API server keep each Website until its page is removed.
func wrap(r *website.Reconciler) mini.Reconciler {
	return &mini.Finalizing[*example.Website]{
		Client: r.Client, Finalizer: "web.example.com/cdn",
		Cleanup: r.Unpublish, Next: r,
	}
}
