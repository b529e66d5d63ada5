package recorder

import (
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// What the API server accepts, in bytes.
const (
	noteLimit = 1024
	wordLimit = 128 // of a reason, an action, and a reporting instance
	nameLimit = validation.DNS1123SubdomainMaxLength
)

// said is what a caller of a recorder said about an event, with its note put together.
type said struct {
	regarding, related              runtime.Object
	annotations                     map[string]string
	eventType, reason, action, note string
}

// reporter is who reports, and by which API: a controller, and the process that it runs in, which the older API
// does not ask for.
type reporter struct {
	api                  *api
	controller, instance string
}

// newEvent makes the Event. What the server would refuse is made fit where that loses nothing that
// matters: a note is cut, and an empty action becomes the reason. For the rest there is an error. The older API
// takes any reason, and has no action.
func newEvent(scheme *runtime.Scheme, by reporter, s said, now time.Time, stamp int64) (*eventsv1.Event, error) {
	regarding, err := referenceTo(scheme, s.regarding)
	if err != nil {
		return nil, fmt.Errorf("the object that the event is about: %w", err)
	}
	var related *corev1.ObjectReference
	if s.related != nil && !anyvalue.IsNil(s.related) {
		if related, err = referenceTo(scheme, s.related); err != nil {
			return nil, fmt.Errorf("the related object: %w", err)
		}
	}
	if s.eventType != corev1.EventTypeNormal && s.eventType != corev1.EventTypeWarning {
		return nil, fmt.Errorf("type %q: it must be Normal or Warning", s.eventType)
	}
	if by.api == currentAPI {
		if s.action == "" {
			s.action = s.reason
		}
		if s.reason == "" || len(s.reason) > wordLimit || len(s.action) > wordLimit {
			return nil, fmt.Errorf("reason %q, action %q: they need 1 to %d bytes", s.reason, s.action, wordLimit)
		}
	}
	namespace := regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where the server wants events of cluster-scoped objects
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: eventName(regarding.Name, stamp), Annotations: maps.Clone(s.annotations)},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: by.controller,
		ReportingInstance:   by.instance,
		Type:                s.eventType,
		Reason:              s.reason,
		Action:              s.action,
		Regarding:           *regarding,
		Related:             related,
		Note:                shortened(s.note, by.api.noteLimit),
	}, nil
}

// eventName is the object's name and a number. An object's name may be one that an Event's may not be,
// such as "system:node".
func eventName(object string, stamp int64) string {
	suffix := fmt.Sprintf(".%x", stamp)
	object = strings.TrimRight(object[:min(len(object), nameLimit-len(suffix))], ".-")
	if len(validation.IsDNS1123Subdomain(object)) > 0 {
		object = "event"
	}
	return object + suffix
}

// referenceTo returns a reference to the object, which may be a reference itself.
func referenceTo(scheme *runtime.Scheme, obj runtime.Object) (*corev1.ObjectReference, error) {
	if obj == nil || anyvalue.IsNil(obj) {
		return nil, fmt.Errorf("it is nil")
	}
	if reference, ok := obj.(*corev1.ObjectReference); ok {
		return reference.DeepCopy(), nil
	}
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, fmt.Errorf("its kind: %w", err)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("its metadata: %w", err)
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return &corev1.ObjectReference{
		APIVersion: apiVersion, Kind: kind,
		Namespace: m.GetNamespace(), Name: m.GetName(),
		UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(),
	}, nil
}

// shortened cuts a text to so many bytes, between two characters, and shows that it did.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "..."
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
