package builder

import (
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// completeOptions takes what the options do not say from the kind and from the manager's settings for
// it. For the rest of these settings, see controller.New.
func (b *Builder) completeOptions(r reconcile.Reconciler, name string, kind schema.GroupVersionKind) (controller.Options, error) {
	options := b.options
	switch {
	case r != nil && options.Reconciler != nil:
		return options, errors.New("it has two reconcilers: one of WithOptions, and one of Complete or Build")
	case r != nil:
		options.Reconciler = r
	case options.Reconciler == nil:
		return options, errors.New("it needs a reconciler: Complete or Build was given nil")
	}
	if options.MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = b.manager.GetControllerOptions().GroupKindConcurrency[kind.GroupKind().String()]
	}
	if options.Kind == "" {
		options.Kind = kind.Kind
	}
	if options.LogConstructor == nil {
		options.LogConstructor = logConstructor(b.manager.GetLogger(), name, kind)
	}
	return options, nil
}

// logConstructor makes loggers with the names of the controller, the kind and the object.
func logConstructor(logger logr.Logger, name string, kind schema.GroupVersionKind) func(*reconcile.Request) logr.Logger {
	logger = logger.WithValues("controller", name)
	if kind.Kind != "" {
		logger = logger.WithValues("controllerGroup", kind.Group, "controllerKind", kind.Kind)
	}
	return func(request *reconcile.Request) logr.Logger {
		switch {
		case request == nil:
			return logger
		case kind.Kind == "":
			return logger.WithValues("namespace", request.Namespace, "name", request.Name)
		default:
			return logger.WithValues(kind.Kind, request.NamespacedName, "namespace", request.Namespace, "name", request.Name)
		}
	}
}
