package admission

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
)

// asking are the four ways to make a validating webhook, each with the note of what it was asked.
func asking() map[string]func() (hook *Webhook, asked func() []string) {
	return map[string]func() (*Webhook, func() []string){
		"of a type": func() (*Webhook, func() []string) {
			n := &noted[*corev1.ConfigMap]{}
			return WithValidator(builtIn, n), func() []string { return n.asked }
		},
		"of any object": func() (*Webhook, func() []string) {
			n := &noted[client.Object]{}
			return WithValidator(builtIn, n), func() []string { return n.asked }
		},
		"of objects like one": func() (*Webhook, func() []string) {
			n := &noted[runtime.Object]{}
			return WithCustomValidator(builtIn, &corev1.ConfigMap{}, n), func() []string {
				return n.asked
			}
		},
	}
}

func TestAValidatorIsAskedAboutWhatHappens(t *testing.T) {
	older, newer := configMap("size", "1"), configMap("size", "2")
	for name, hook := range asking() {
		for _, c := range []struct {
			operation   admissionv1.Operation
			object, old any
			want        []string
		}{
			{admissionv1.Create, newer, nil, []string{"create for CREATE: map[size:2]"}},
			{admissionv1.Update, newer, older,
				[]string{"update for UPDATE: map[size:1] map[size:2]"}},
			{admissionv1.Delete, nil, older, []string{"delete for DELETE: map[size:1]"}},
			{admissionv1.Connect, nil, nil, nil},
		} {
			hook, asked := hook()
			response := ask(t, hook, false, question(t, c.operation, c.object, c.old))
			require.True(t, response.Allowed, "%s: %s", name, c.operation)
			require.EqualValues(t, http.StatusOK, response.Result.Code)
			require.Equal(t, c.want, asked(), "%s: %s", name, c.operation)
		}
	}
}

func TestAValidatorsErrorReachesTheUser(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "bananas", nil)
	for _, c := range []struct {
		err    error
		code   int
		reason string
	}{
		{errors.New("too many bananas"), http.StatusForbidden, "Forbidden"},
		{invalid, http.StatusUnprocessableEntity, "Invalid"},
		{errors.Join(errors.New("wrapped"), invalid), http.StatusUnprocessableEntity, "Invalid"},
	} {
		response := ask(t, WithValidator(builtIn,
			&noted[*corev1.ConfigMap]{err: c.err, warnings: Warnings{"they turn brown"}}), false,
			question(t, admissionv1.Create, configMap(), nil))
		require.False(t, response.Allowed)
		require.EqualValues(t, c.code, response.Result.Code)
		require.EqualValues(t, c.reason, response.Result.Reason)
		require.Equal(t, []string{"they turn brown"}, response.Warnings,
			"a refusal has its warnings, too")
	}
}

func TestWarningsComeWithAYes(t *testing.T) {
	response := ask(t, WithValidator(builtIn,
		&noted[*corev1.ConfigMap]{warnings: Warnings{"they turn brown", "soon"}}), false,
		question(t, admissionv1.Create, configMap(), nil))
	require.True(t, response.Allowed)
	require.Equal(t, []string{"they turn brown", "soon"}, response.Warnings)
}

func TestAValidatorIsNotAskedAboutWhatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		operation   admissionv1.Operation
		object, old any
		message     string
	}{
		{admissionv1.Create, nil, configMap(), "there is no content to decode"},
		{admissionv1.Update, nil, configMap(), "there is no content to decode"},
		{admissionv1.Update, configMap(), nil, "there is no content to decode"},
		{admissionv1.Delete, configMap(), nil, "there is no content to decode"},
		{admissionv1.Create, `"text"`, nil, "cannot unmarshal"},
		{"", configMap(), nil, `unknown operation ""`},
		{"PATCH", configMap(), configMap(), `unknown operation "PATCH"`},
	} {
		n := &noted[*corev1.ConfigMap]{}
		response := ask(t, WithValidator(builtIn, n), false,
			question(t, c.operation, c.object, c.old))
		require.False(t, response.Allowed, "%s", c.operation)
		require.EqualValues(t, http.StatusBadRequest, response.Result.Code)
		require.Contains(t, response.Result.Message, c.message)
		require.Empty(t, n.asked)
	}
}
