package cache

import (
	"errors"
	"fmt"

	"github.com/loopwright/loopwright/informer"
)

// once returns a function that logs the errors of one informer, each when it is another than the last.
func (m *messages) once(resource, where string) func(error) {
	last := ""
	return func(err error) {
		if errors.Is(err, errKindIsBack) || err.Error() == last {
			return
		}
		last = err.Error()
		m.logger().Error(err, "An informer cannot read, and tries again", "resource", resource, "where", where)
	}
}

// transformError is an informer's OnTransformError.
func (m *messages) transformError(err *informer.TransformError) {
	m.logger().Error(err, "An object is stored as it came")
}

// handlerPanic is an informer's OnPanic.
func (m *messages) handlerPanic(p informer.HandlerPanic) {
	m.logger().Error(fmt.Errorf("panic: %v", p.Value), "A handler panicked", "handler", p.Handler, "object", p.Key.String(), "stack", string(p.Stack))
}
