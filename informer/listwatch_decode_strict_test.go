package informer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// A relist would delete the object of an item that was skipped.
func TestADamagedTagIsRefusedAndDropsNoItem(t *testing.T) {
	about, err := (&apiruntime.TypeMeta{APIVersion: "v1", Kind: "PodList"}).Marshal()
	require.NoError(t, err)
	for name, part := range map[string][]byte{
		"an item that is a number":     {listItems << 3, 1},
		"an item that is eight bytes":  {listItems<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8},
		"metadata that are four bytes": {listMetadata<<3 | 5, 1, 2, 3, 4},
		"a field with the number 0":    {2, 1, 'x'},
		"a number with the number 0":   {0, 1},
	} {
		body := append([]byte(protobufMagic), field(envelopeType, about)...)
		body = append(body, field(envelopeBytes, part)...)
		_, err := reads[*corev1.Pod](t, answers{protobufType, bytes.NewReader(body)},
			podResource).List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, "damaged", name)
	}
}

// The server's fields are matched exactly, as in apimachinery: another one that differs in case is
// another field.
func TestListMetadataInOtherLettersIsAnotherField(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","items":[],` +
		`"metadata":{"resourceVersion":"7","RESOURCEVERSION":"8","Continue":"x"}}`
	list, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
		podResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "7", list.ResourceVersion)
	require.Empty(t, list.Continue)
}
