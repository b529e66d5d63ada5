package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// otherOwnerError says that another controller has answered the probe.
type otherOwnerError struct {
	original, probe string
	optional        bool
	by              []string // field managers; may be empty
	after           time.Duration
}

func (e *otherOwnerError) Error() string {
	by := "somebody"
	if len(e.by) > 0 {
		by = strings.Join(e.by, " and ")
	}
	return fmt.Sprintf("somebody else does the work of the %s already: %s has answered the "+
		"probe %s after %s. Two of them would undo each other's work, so %s", e.original, by,
		e.probe, e.after.Round(time.Millisecond), e.howToSwitchOff())
}

// kubernetes is the field manager of Kubernetes' own controllers.
const kubernetes = "kube-controller-manager"

// howToSwitchOff tells the user how to switch off the controller that has answered: its field
// managers say whether it's the original. If the original is optional, the clusters of this project
// run it unless told not to.
func (e *otherOwnerError) howToSwitchOff() string {
	here := "leaving %[1]s out of"
	if e.optional {
		here = "adding -%[1]s to"
	}
	own := fmt.Sprintf("with kube-controller-manager --controllers=*,-%[1]s, and on an embedded or "+
		"kind cluster of this project by "+here+" ORIGINALS when the cluster is made", e.original)
	switch {
	case slices.Contains(e.by, kubernetes):
		return "switch Kubernetes' own off " + own
	case len(e.by) > 0:
		return fmt.Sprintf("stop the program that writes as %s: it is not Kubernetes' own "+
			"controller, which writes as %s", strings.Join(e.by, " or "), kubernetes)
	}
	return "stop the other one: `make controllers`, `make mini` or the like, or Kubernetes' own " + own
}

// rivalError says that another client has deleted the probe.
type rivalError struct{ original, probe string }

func (e *rivalError) Error() string {
	return fmt.Sprintf("somebody has deleted the probe %s: most likely, another process starts "+
		"its own %s at this moment. Run one, or use leader election", e.probe, e.original)
}

// refusedError says which permission is missing.
type refusedError struct {
	verb, namespace string
	rules           []string
	kind            string
	err             error // the server's answer
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("this client may not %s the kind %s in namespace %s, where it probes "+
		"whether somebody else does its work: bind it to a Role there with %s, or set "+
		"Probe.Skip: %v",
		e.verb, e.kind, e.namespace, strings.Join(e.rules, " and "), e.err)
}

func (e *refusedError) Unwrap() error { return e.err }

// explain says what the probe was doing, and which permission is missing, if one is.
func (p *prober) explain(err error, verb string, kind schema.GroupVersionKind) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return &refusedError{
			verb: verb, kind: kind.Kind, namespace: p.namespace, rules: p.rules(), err: err,
		}
	}
	return fmt.Errorf("probing whether somebody else does the work of the %s: %s %s in "+
		"namespace %s: %w", p.Original, verb, kind.Kind, p.namespace, err)
}

// rules returns the RBAC rules that a probe needs, as YAML.
func (p *prober) rules() []string {
	verbs := map[bool]string{
		true: `["list", "create", "watch", "get", "delete"]`, false: `["list", "create", "delete"]`,
	}
	rules := []string{p.rule(p.probes, verbs[p.probes == p.answers])}
	if p.probes != p.answers {
		asks := map[bool]string{true: "get", false: "list"}[p.AnswerLabel == ""]
		rules = append(rules, p.rule(p.answers, fmt.Sprintf(`["watch", %q]`, asks)))
	}
	return rules
}

func (p *prober) rule(kind schema.GroupVersionKind, verbs string) string {
	resource := strings.ToLower(kind.Kind)
	if mapping, err := p.client.RESTMapper().RESTMapping(
		kind.GroupKind(), kind.Version,
	); err == nil {
		resource = mapping.Resource.Resource
	}
	return fmt.Sprintf(`the rule {apiGroups: [%q], resources: [%q], verbs: %s}`, kind.Group,
		resource, verbs)
}

// isFinal reports whether it's useless to probe again: another controller has answered, or the API
// server has refused a request. An API server that doesn't answer, or asks the client to come back
// later, may be restarting.
func isFinal(err error) bool {
	var (
		other  *otherOwnerError
		rival  *rivalError
		status apierrors.APIStatus
	)
	if errors.As(err, &other) || errors.As(err, &rival) {
		return true
	}
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError &&
		code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

// writersOf returns the field managers of an object, except this package.
func writersOf(object metav1.Object) (writers []string) {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != probeManager && entry.Manager != "" &&
			!slices.Contains(writers, entry.Manager) {
			writers = append(writers, entry.Manager)
		}
	}
	return writers
}
