package reference

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A log line should say which object it is about, and not print all of it, with what is secret in
// it.
func TestAnObjectIsReferredToByWhatItIsCalled(t *testing.T) {
	web := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	for _, c := range []struct {
		name  string
		value any
		want  []Field
		is    bool
	}{
		{"an object", &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: web},
			[]Field{{"apiVersion", "v1"}, {"kind", "Pod"}, {"namespace", "shop"},
				{"name", "web"}}, true},
		{"one of a group", &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1",
			Kind: "Pod"}, ObjectMeta: web},
			[]Field{{"apiVersion", "apps/v1"}, {"kind", "Pod"}, {"namespace", "shop"},
				{"name", "web"}}, true},
		{"one that does not know its kind", &corev1.Pod{ObjectMeta: web},
			[]Field{{"namespace", "shop"}, {"name", "web"}}, true},
		{"one that is no pointer, as in a loop over a list's items", corev1.Pod{ObjectMeta: web},
			[]Field{{"namespace", "shop"}, {"name", "web"}}, true},
		{"a list that is no pointer", corev1.PodList{}, nil, false},
		{"a struct that is no object", metav1.ObjectMeta{Name: "n"}, nil, false},
		{"one in no namespace", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
			[]Field{{"name", "n"}}, true},
		{"none", (*corev1.Pod)(nil), nil, true},
		{"a name", types.NamespacedName{Namespace: "shop", Name: "web"},
			[]Field{{"namespace", "shop"}, {"name", "web"}}, true},
		{"a list", &corev1.PodList{}, nil, false},
		{"a text", "web", nil, false},
		{"nothing", nil, nil, false},
	} {
		fields, is := Of(c.value)
		require.Equal(t, c.is, is, c.name)
		require.Equal(t, c.want, fields, c.name)
	}
}
