package informer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// sharedFields lets objects share the largest thing that is the same in many of
// them: the field sets of their managedFields. The pods of a Deployment were all
// written by the same clients in the same way.
//
// It is safe because nobody changes an object that others may have; and a
// DeepCopy, which is there to be changed, shares nothing.
type sharedFields map[string]*metav1.FieldsV1

// mostShared bounds what is remembered; a collection has few different field sets,
// or too many for sharing them to help.
const mostShared = 256

// share puts field sets that were seen before into the place of equal ones. It does
// nothing for objects without a Go type of their own, which have no field sets.
func (s sharedFields) share(object any) {
	typed, ok := object.(metav1.ObjectMetaAccessor)
	if !ok {
		return
	}
	about, ok := typed.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		return
	}
	for i := range about.ManagedFields {
		set := &about.ManagedFields[i].FieldsV1
		if *set == nil {
			continue
		}
		text := (*set).GetRawBytes()
		if seen := s[string(text)]; seen != nil {
			*set = seen
		} else if len(s) < mostShared {
			s[string(text)] = *set
		}
	}
}
