// Command naive updates an object without its version.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/10-client/checking"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 10, naive: no version, no conflict", checking.Story(check)) }

// check checks the links of a page, and notes on the page which text it has checked.
func check(
	ctx context.Context, client *mini.Client, key mini.Request, links func(text string),
) error {
	page, err := mini.Get[*corev1.ConfigMap](ctx, client, key)
	if err != nil {
		return err
	}
	text := page.Data["index.html"]
	if page.Annotations[checking.Annotation] == text {
		return nil // it has been checked
	}
	links(text)
	page.Annotations = map[string]string{checking.Annotation: text}
	page.ResourceVersion = "" // there were these conflicts
	return client.Update(ctx, page)
}
