package finalizer

import (
	kerrors "k8s.io/apimachinery/pkg/util/errors"
)

// failed is what has failed as one error, or nil. It is an Aggregate, as in controller-runtime, and
// reads like one. Other than there, errors.As and reconcile.WaitsFor find what is in it.
func failed(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return oneFailure{kerrors.NewAggregate(errs)}
	default:
		return failures{kerrors.NewAggregate(errs)}
	}
}

// oneFailure unwraps to a single error, so that it may be one that waits for another object.
type oneFailure struct{ kerrors.Aggregate }

func (f oneFailure) Unwrap() error { return f.Errors()[0] }

type failures struct{ kerrors.Aggregate }

func (f failures) Unwrap() []error { return f.Errors() }
