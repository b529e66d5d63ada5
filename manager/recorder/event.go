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

// The API server's limits, in bytes.
const (
	noteLimit = 1024
	wordLimit = 128 // of a reason, an action, and a reporting instance
	nameLimit = validation.DNS1123SubdomainMaxLength
)

// eventCall has the arguments of a recorder's caller, with the note formatted.
type eventCall struct {
	regarding, related              runtime.Object
	annotations                     map[string]string
	eventType, reason, action, note string
}

// reporter is the controller that reports, the process that it runs in, which the older API does
// not store, and the API to use.
type reporter struct {
	api                  *api
	controller, instance string
}

// newEvent makes the Event. It corrects what the server would refuse if that loses no information
// that matters: it cuts a note, and copies the reason to an empty action. For anything else it
// returns an error. The older API takes any reason, and has no action.
func newEvent(
	scheme *runtime.Scheme, by reporter, s eventCall, now time.Time, stamp int64,
) (*eventsv1.Event, error) {
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
			return nil, fmt.Errorf("reason %q, action %q: they need 1 to %d bytes",
				s.reason, s.action, wordLimit)
		}
	}
	namespace := regarding.Namespace
	if namespace == "" {
		// the server wants events of cluster-scoped objects there
		namespace = metav1.NamespaceDefault
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: eventName(regarding.Name, stamp),
			Annotations: maps.Clone(s.annotations),
		},
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

// eventName is the object's name and a number. Some valid object names, such as "system:node", are
// no valid names of Events.
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

// shortened cuts a text to this many bytes, between two characters, and marks the cut. Bytes that
// are no UTF-8 become U+FFFD, as they would in JSON, where they'd make the text longer.
func shortened(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
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
