package scenarios

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// calls are what a client of one kind can do.
type calls[T stage.Object] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// create makes an object.
func create[T stage.Object](text string, object T, in func(*stage.Stage) calls[T]) Step {
	return Step{Text: text, Do: func(ctx context.Context, s *stage.Stage) error {
		_, err := in(s).Create(ctx, object.DeepCopyObject().(T), metav1.CreateOptions{})
		return err
	}}
}

// change changes an object, and starts over when somebody else has changed it meanwhile.
func change[T stage.Object](ctx context.Context, c calls[T], name string, how func(T)) error {
	backoff := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10}
	return wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		object, err := c.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		how(object)
		_, err = c.Update(ctx, object, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func edit[T stage.Object](text, name string, in func(*stage.Stage) calls[T], how func(T)) Step {
	return Step{Text: text, Do: func(ctx context.Context, s *stage.Stage) error { return change(ctx, in(s), name, how) }}
}

// remove deletes an object as the policy says.
func remove[T stage.Object](kind, name string, policy metav1.DeletionPropagation, in func(*stage.Stage) calls[T]) Step {
	return Step{Text: fmt.Sprintf("delete the %s %s (%s)", kind, name, policy), Do: func(ctx context.Context, s *stage.Stage) error {
		return in(s).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	}}
}

// many is several steps at once.
func many(text string, steps ...Step) Step {
	return Step{Text: text, Do: func(ctx context.Context, s *stage.Stage) error {
		for _, step := range steps {
			if err := step.Do(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", step.Text, err)
			}
		}
		return nil
	}}
}
