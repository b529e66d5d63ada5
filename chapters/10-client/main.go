// Command 10-client updates an object with its version, and starts over after a conflict.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/chapters/10-client/counter"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 10: the client", counter.Story(increment)) }

// increment reads, adds 1 and writes. If another client was faster, it starts over.
func increment(ctx context.Context, client *mini.Client, key mini.Request) error {
	for {
		count, err := mini.Get[*corev1.ConfigMap](ctx, client, key)
		if err != nil {
			return err
		}
		counter.AddOne(count)
		if err := client.Update(ctx, count); !apierrors.IsConflict(err) {
			return err
		}
	}
}
