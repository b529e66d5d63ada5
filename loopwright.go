// Package loopwright has the names that the main of a controller needs, in one import:
//
//	import ctrl "github.com/loopwright/loopwright"
//
//	ctrl.SetLogger(zap.New())
//	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
//	err = ctrl.NewControllerManagedBy(mgr).For(&appsv1.ReplicaSet{}).Complete(reconciler)
//	err = mgr.Start(ctrl.SetupSignalHandler())
//
// zap is package manager/log/zap. Any logr.Logger will do, but don't leave SetLogger out: until it's
// called nothing is logged, and a reconciler that fails again and again does so in silence.
//
// There is nothing here but other names for what the packages below manager have. They are those of
// controller-runtime's package at the same place.
//
// Neighbours: below it is manager, with its packages. Above it is the user's program.
package loopwright

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client/config"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/scheme"
	"github.com/loopwright/loopwright/manager/signals"
)

type (
	// Builder makes a controller; see NewControllerManagedBy.
	Builder = builder.Builder
	// Request names an object that needs a look.
	Request = reconcile.Request
	// Result says when a request is to come again.
	Result = reconcile.Result
	// Manager starts and stops controllers and what they need.
	Manager = manager.Manager
	// Options are those of NewManager.
	Options = manager.Options
	// SchemeBuilder registers the types of an API group.
	SchemeBuilder = scheme.Builder

	// GroupVersion is a version of an API group.
	GroupVersion = schema.GroupVersion
	// GroupResource is a resource, of whatever version.
	GroupResource = schema.GroupResource
	// TypeMeta is the part of an object that says of which kind it is.
	TypeMeta = metav1.TypeMeta
	// ObjectMeta is the part of an object that all kinds have.
	ObjectMeta = metav1.ObjectMeta
)

var (
	// RegisterFlags adds the flag --kubeconfig to a set of flags.
	RegisterFlags = config.RegisterFlags
	// GetConfig finds the configuration of the cluster: from --kubeconfig, from KUBECONFIG, from
	// the Pod's service account, or from the home directory.
	GetConfig = config.GetConfig
	// GetConfigOrDie is GetConfig for a main: it logs the error and ends the process.
	GetConfigOrDie = config.GetConfigOrDie

	// NewManager returns a manager.
	NewManager = manager.New
	// NewControllerManagedBy begins a controller that a manager starts and stops.
	NewControllerManagedBy = builder.ControllerManagedBy
	// SetControllerReference makes one object the controller of another one: the garbage collector
	// removes the second with the first, and a controller that Owns the second is told of it.
	SetControllerReference = controllerutil.SetControllerReference
	// CreateOrUpdate makes an object what a function says it should be, or creates it.
	CreateOrUpdate = controllerutil.CreateOrUpdate
	// CreateOrPatch is CreateOrUpdate with a patch, which also writes the status.
	CreateOrPatch = controllerutil.CreateOrPatch
	// SetupSignalHandler returns a context that ends when the process is told to stop. The second
	// time it is told, the process ends at once.
	SetupSignalHandler = signals.SetupSignalHandler

	// Log is the program's logger. It says nothing before SetLogger.
	Log = log.Log
	// SetLogger says where Log writes, and with it the manager, its controllers and their
	// reconcilers. Call it first in main.
	SetLogger = log.SetLogger
	// LoggerFrom returns the logger that is in a context; a reconciler's has the names of the
	// controller and of the object.
	LoggerFrom = log.FromContext
	// LoggerInto puts a logger into a context.
	LoggerInto = log.IntoContext
)

// NewWebhookManagedBy begins the webhooks of a kind, which a manager's webhook server serves.
func NewWebhookManagedBy[T runtime.Object](mgr manager.Manager, obj T) *builder.WebhookBuilder[T] {
	return builder.WebhookManagedBy(mgr, obj)
}
