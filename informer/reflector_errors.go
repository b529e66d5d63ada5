package informer

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Refusal is why an API server doesn't let a reflector read at all.
type Refusal string

const (
	// Forbidden: RBAC, or another authorizer, says no (403).
	Forbidden Refusal = "forbidden"
	// UnknownKind: the server doesn't serve the resource (404).
	UnknownKind Refusal = "unknown kind"
	// BadCredentials: the server doesn't recognise the client (401).
	BadCredentials Refusal = "bad credentials"
)

// RefusedError is an answer that will stay the same until somebody acts: grants a permission,
// installs a CustomResourceDefinition, renews credentials. Its text says what to do.
type RefusedError struct {
	Reason Refusal
	Verb   string // list or watch
	Kind   string
	// Resource is what we tried to read, and Namespace where, empty for all. For a ListerWatcher
	// that isn't a ListWatch both are empty.
	Resource  schema.GroupVersionResource
	Namespace string
	Err       error // the server's answer
}

func (e *RefusedError) Unwrap() error { return e.Err }

func (e *RefusedError) Error() string { return e.advice() + ": " + e.Err.Error() }

// advice says what is wrong and what to do.
func (e *RefusedError) advice() string {
	what := readerIdentity{kind: e.Kind, resource: e.Resource}.String()
	known := e.Resource.Resource != ""
	switch {
	case e.Reason == Forbidden && !known:
		return fmt.Sprintf("this client may not %s %s", e.Verb, what)
	case e.Reason == UnknownKind && !known:
		return fmt.Sprintf("cannot %s %s, the API server does not serve it", e.Verb, what)
	case e.Reason == Forbidden:
		return fmt.Sprintf("this client may not %s %s %s, bind it to a %s with the rule %s", e.Verb,
			what, e.where(), e.role(), e.Rule())
	case e.Reason == UnknownKind:
		return fmt.Sprintf("cannot %s %s, the API server does not serve %s: is its "+
			"CustomResourceDefinition installed, or its API server up?",
			e.Verb, what, e.Resource.GroupVersion().WithResource(e.Resource.Resource))
	default:
		return fmt.Sprintf("cannot %s %s, the API server does not accept this client's credentials: "+
			"they are missing, wrong or expired", e.Verb, what)
	}
}

// Rule is the RBAC rule that a reader of the collection needs, as YAML. A
// reflector needs both verbs: it falls back to a list where it can't stream.
func (e *RefusedError) Rule() string {
	return fmt.Sprintf(`{apiGroups: [%q], resources: [%q], verbs: ["list", "watch"]}`,
		e.Resource.Group, e.Resource.Resource)
}

func (e *RefusedError) where() string {
	if e.Namespace == "" {
		return "in all namespaces"
	}
	return "in namespace " + e.Namespace
}

func (e *RefusedError) role() string {
	if e.Namespace == "" {
		return "ClusterRole"
	}
	return "Role there"
}

// refusedOr turns a refusal into a RefusedError and leaves other errors alone.
func (c readerIdentity) refusedOr(err error, verb string) error {
	var reason Refusal
	switch {
	case apierrors.IsForbidden(err):
		reason = Forbidden
	case apierrors.IsNotFound(err):
		reason = UnknownKind
	case apierrors.IsUnauthorized(err):
		reason = BadCredentials
	default:
		return err
	}
	return &RefusedError{Reason: reason, Verb: verb, Kind: c.kind, Resource: c.resource,
		Namespace: c.namespace, Err: err}
}

// faultOf says what an error means to the machine.
func faultOf(err error) faultKind {
	switch {
	case errors.Is(err, errNothingToStream):
		return faultNone
	case isStalled(err):
		return faultStalled
	case isExpired(err):
		return faultExpired
	case apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge):
		return faultTooLarge
	case apierrors.IsNotFound(err):
		return faultUnknownKind
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsUnsupportedMediaType(err):
		return faultUnsupported
	case apierrors.IsStoreReadError(err):
		return faultUnreadable
	default:
		return faultBroken
	}
}
