package fake_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

// "The same calls have the same answers": a test that compares them with a golden file passes each
// time, once it has taken out times and UIDs.
func TestTheSameCallsHaveTheSameAnswersExceptForTimesAndUIDs(t *testing.T) {
	differs := regexp.MustCompile(`"(uid|creationTimestamp|deletionTimestamp|time)":"[^"]*"`)
	story := func() string {
		c := fake.NewFakeClient()
		var answers []any
		note := func(object any, err error) {
			text := ""
			if err != nil {
				text = err.Error()
			}
			data, err := json.Marshal(object)
			require.NoError(t, err)
			answers = append(answers, json.RawMessage(data), text)
		}
		for _, name := range []string{"z", "a", "m", "a"} {
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: name, Finalizers: []string{"shop.example/keep"}}}
			note(made, c.Create(t.Context(), made))
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"b":"1","a":"2"}}`))
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "m"}}
		note(made, c.Patch(t.Context(), made, patch))
		note(made, c.Delete(t.Context(), made))
		list := &corev1.ConfigMapList{}
		note(list, c.List(t.Context(), list, client.Limit(4)))
		note(list, c.List(t.Context(), list, client.Continue(list.Continue)))
		all, err := json.Marshal(answers)
		require.NoError(t, err)
		return differs.ReplaceAllString(string(all), `"$1":""`)
	}
	first := story()
	for range 5 {
		require.Equal(t, first, story())
	}
}
