package informer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// internedFields lets objects share the largest text that many of them have in
// common: the field sets of their managedFields. The pods of a Deployment were all
// written by the same clients in the same way.
//
// Each object has a FieldsV1 of its own, so that a transform may set or empty it. Only
// the text in it is shared, and nobody writes into that. A DeepCopy shares nothing.
type internedFields map[string]metav1.FieldsV1

// maxInterned bounds what is remembered; a collection has few different field sets,
// or too many for sharing them to help.
const maxInterned = 256

// intern replaces field sets by equal ones that were seen before. It does
// nothing for objects without a Go type of their own, which have no field sets.
func (s internedFields) intern(object any) {
	typed, ok := object.(metav1.ObjectMetaAccessor)
	if !ok {
		return
	}
	about, ok := typed.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		return
	}
	for i := range about.ManagedFields {
		set := about.ManagedFields[i].FieldsV1
		if set == nil {
			continue
		}
		text := set.GetRawBytes()
		if seen, known := s[string(text)]; known {
			*set = seen
		} else if len(s) < maxInterned {
			s[string(text)] = *set
		}
	}
}
