// Command naive updates an object without its version.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/10-client/counter"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 10, naive: no version, no conflict", counter.Story(increment)) }

// increment reads, adds 1 and writes. Without a version, no update is refused.
func increment(ctx context.Context, client *mini.Client, key mini.Request) error {
	count, err := mini.Get[*corev1.ConfigMap](ctx, client, key)
	if err != nil {
		return err
	}
	counter.AddOne(count)
	count.ResourceVersion = "" // there were these conflicts
	return client.Update(ctx, count)
}
