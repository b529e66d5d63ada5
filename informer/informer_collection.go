package informer

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Collection names what an informer watches: a kind, perhaps in one namespace, and
// perhaps only objects that selectors pick.
type Collection struct {
	Resource schema.GroupVersionResource
	// Form and Kind are needed where the Go type leaves them open; see
	// ListWatchOptions.
	Form          Form
	Kind          schema.GroupVersionKind
	Namespace     string
	LabelSelector string
	FieldSelector string
}

// String is for errors.
func (c Collection) String() string {
	text := c.Resource.GroupResource().String()
	if c.Form == FormUnstructured || c.Form == FormMetadata {
		text = c.Form.String() + " " + text
	}
	if c.Namespace != "" {
		text += " in namespace " + c.Namespace
	}
	if picked := strings.Trim(c.LabelSelector+" "+c.FieldSelector, " "); picked != "" {
		text += " with " + picked
	}
	return text
}

// includes reports whether one is the other, or a form of it.
func (c Collection) includes(one Collection) bool {
	if c.Form == FormOfType {
		c.Form = one.Form
	}
	if c.Kind.Empty() || one.Form == FormTyped {
		c.Kind = one.Kind
	}
	return c == one
}
