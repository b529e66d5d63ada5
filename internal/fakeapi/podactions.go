package fakeapi

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The subresources of pods that are actions: binding and eviction.

var bindingResource = &resource{Kind: Kind{Version: "v1", Kind: "Binding", Resource: "bindings"}, typed: true}

// serveBinding answers a POST to pods/binding, which is how a scheduler puts a
// pod on a node.
func (s *Server) serveBinding(a answer, res *resource, r Request, hr *http.Request) error {
	body, err := readBody(hr)
	if err != nil {
		return err
	}
	obj, _, err := decodeObject(bindingResource, hr.Header.Get("Content-Type"), "", body)
	if err != nil {
		return err
	}
	binding := obj.(*corev1.Binding)
	if binding.Target.Name == "" {
		return apierrors.NewInvalid(bindingResource.gk(), binding.Name, field.ErrorList{field.Required(field.NewPath("target", "name"), "")})
	}
	manager := managerName(r.Query.Get("fieldManager"), r.UserAgent)
	_, _, err = s.update(updating{res: res, subresource: "binding", namespace: r.Namespace, name: r.Name, uid: binding.UID,
		dryRun: r.Query.Get("dryRun") != "",
		mutate: func(old runtime.Object) (runtime.Object, error) {
			pod := old.DeepCopyObject().(*corev1.Pod)
			if err := bind(pod, binding); err != nil {
				return nil, err
			}
			return s.trackUpdate(res, "binding", old, pod, manager)
		}})
	if err != nil {
		return err
	}
	a.raw(http.StatusCreated, success(nil, http.StatusCreated))
	return nil
}

func bind(pod *corev1.Pod, binding *corev1.Binding) error {
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), pod.Name, fmt.Errorf(format, args...))
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return conflict("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return conflict("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return conflict("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	pod.Spec.NodeName = binding.Target.Name
	for key, value := range binding.Annotations {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[key] = value
	}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: seconds(time.Now())}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodScheduled {
			pod.Status.Conditions[i] = scheduled
			return nil
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, scheduled)
	return nil
}

var (
	evictionResource    = &resource{Kind: Kind{Group: "policy", Version: "v1", Kind: "Eviction", Resource: "evictions"}, typed: true}
	oldEvictionResource = &resource{Kind: Kind{Group: "policy", Version: "v1beta1", Kind: "Eviction", Resource: "evictions"}, typed: true}
)

// decodeEviction reads an Eviction of either version, and returns the options
// of its deletion.
func decodeEviction(contentType string, body []byte) (*metav1.DeleteOptions, error) {
	obj, _, err := decodeObject(evictionResource, contentType, "", body)
	if err != nil {
		if old, _, oldErr := decodeObject(oldEvictionResource, contentType, "", body); oldErr == nil {
			obj, err = old, nil
		}
	}
	if err != nil {
		return nil, err
	}
	options := &metav1.DeleteOptions{}
	switch eviction := obj.(type) {
	case *policyv1.Eviction:
		options = or(eviction.DeleteOptions, *options)
	case *policyv1beta1.Eviction:
		options = or(eviction.DeleteOptions, *options)
	}
	return options, nil
}

// serveEviction answers a POST to pods/eviction: a delete that a disruption
// budget may refuse.
func (s *Server) serveEviction(a answer, res *resource, r Request, hr *http.Request) error {
	body, err := readBody(hr)
	if err != nil {
		return err
	}
	options, err := decodeEviction(hr.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	v, err := s.find(hr.Context(), res, r, 0)
	if err != nil {
		return err
	}
	if budget := s.budgetAgainst(v.obj.(*corev1.Pod)); budget != "" {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause,
			Message: fmt.Sprintf("The disruption budget %s does not allow a disruption now", budget)}}
		return err
	}
	if _, _, err := s.delete(res, r.Namespace, r.Name, options); err != nil {
		return err
	}
	a.raw(http.StatusCreated, success(nil, http.StatusCreated))
	return nil
}

// budgetAgainst names a disruption budget that covers the pod and is used up. The fake does not
// update the budget's status: that is its controller's work.
func (s *Server) budgetAgainst(pod *corev1.Pod) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.store.table(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"})
	for _, key := range span(t.keys, pod.Namespace+"/") {
		budget, ok := t.live[key].obj.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) && budget.Status.DisruptionsAllowed <= 0 {
			return budget.Name
		}
	}
	return ""
}
