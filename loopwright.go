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
// It only has other names for parts of the packages below manager. They're the names of
// controller-runtime's root package.
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
	// Request names an object to reconcile.
	Request = reconcile.Request
	// Result says when to reconcile a request again.
	Result = reconcile.Result
	// Manager starts and stops controllers, and the caches and servers that they need.
	Manager = manager.Manager
	// Options are the options of NewManager.
	Options = manager.Options
	// SchemeBuilder registers the types of an API group.
	SchemeBuilder = scheme.Builder

	// GroupVersion is a version of an API group.
	GroupVersion = schema.GroupVersion
	// GroupResource is a resource without its version.
	GroupResource = schema.GroupResource
	// TypeMeta has an object's kind and API version.
	TypeMeta = metav1.TypeMeta
	// ObjectMeta is the metadata that all kinds have.
	ObjectMeta = metav1.ObjectMeta
)

var (
	// RegisterFlags adds the flag --kubeconfig to a set of flags.
	RegisterFlags = config.RegisterFlags
	// GetConfig finds the configuration of the cluster: from --kubeconfig, from KUBECONFIG, from
	// the Pod's service account, or from the home directory.
	GetConfig = config.GetConfig
	// GetConfigOrDie is GetConfig for main functions: it logs the error and ends the process.
	GetConfigOrDie = config.GetConfigOrDie

	// NewManager returns a manager.
	NewManager = manager.New
	// NewControllerManagedBy starts the description of a controller that a manager starts and
	// stops.
	NewControllerManagedBy = builder.ControllerManagedBy
	// SetControllerReference makes one object the controller of another one: the garbage collector
	// deletes the second with the first, and a controller that Owns the second's kind reconciles
	// the first when the second changes.
	SetControllerReference = controllerutil.SetControllerReference
	// CreateOrUpdate lets a function change an object, and updates or creates it.
	CreateOrUpdate = controllerutil.CreateOrUpdate
	// CreateOrPatch is CreateOrUpdate with a patch, which also writes the status.
	CreateOrPatch = controllerutil.CreateOrPatch
	// SetupSignalHandler returns a context that ends with the first SIGTERM or Ctrl-C. At the
	// second one, the process ends at once.
	SetupSignalHandler = signals.SetupSignalHandler

	// Log is the program's logger. It's silent until SetLogger is called.
	Log = log.Log
	// SetLogger sets where Log writes, and with it the manager, its controllers and their
	// reconcilers. Call it first in main.
	SetLogger = log.SetLogger
	// LoggerFrom returns the logger in a context; a reconciler's has the names of the controller
	// and of the object.
	LoggerFrom = log.FromContext
	// LoggerInto puts a logger into a context.
	LoggerInto = log.IntoContext
)

// NewWebhookManagedBy starts the description of a kind's webhooks, which a manager's webhook server
// serves.
func NewWebhookManagedBy[T runtime.Object](mgr manager.Manager, obj T) *builder.WebhookBuilder[T] {
	return builder.WebhookManagedBy(mgr, obj)
}
