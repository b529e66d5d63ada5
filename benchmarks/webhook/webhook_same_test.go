// Package webhook asks our webhooks and controller-runtime's the same questions.
//
// A review goes in on both sides; the answers must be the same, or lead to the same object.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	patch "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	theirlog "sigs.k8s.io/controller-runtime/pkg/log"
	theirs "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ourlog "github.com/loopwright/loopwright/manager/log"
	ours "github.com/loopwright/loopwright/manager/webhook/admission"
)

func TestMain(m *testing.M) {
	ourlog.SetLogger(logr.Discard())
	theirlog.SetLogger(logr.Discard())
	utilruntime.PanicHandlers = nil // panics are part of the test
	m.Run()
}

// defaults is a Defaulter on both sides. What it does is in a label of the object.
type defaults struct{}

func (defaults) Default(_ context.Context, pod *corev1.Pod) error {
	switch what := pod.Labels["do"]; what {
	case "label":
		pod.Labels["added"] = "a/b~c"
	case "unlabel":
		delete(pod.Labels, "gone")
	case "append":
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "last"})
	case "prepend":
		pod.Spec.Containers = append([]corev1.Container{{Name: "first"}}, pod.Spec.Containers...)
	case "sort":
		slices.SortFunc(pod.Spec.Containers, func(a, b corev1.Container) int { return strings.Compare(a.Name, b.Name) })
	case "clear":
		pod.Spec = corev1.PodSpec{}
	case "image":
		for i := range pod.Spec.Containers {
			pod.Spec.Containers[i].Image = "banana"
		}
	case "drop":
		pod.Spec.Containers = pod.Spec.Containers[:0]
	case "fail":
		return errors.New("no")
	case "status":
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New("eaten"))
	case "panic":
		panic("slipped")
	}
	return nil
}

// validates is a Validator; Warnings are different types on both sides.
type validates[W ~[]string] struct{}

func (validates[W]) ValidateCreate(_ context.Context, pod *corev1.Pod) (W, error) {
	return W{"create " + pod.Name}, defaults{}.Default(context.Background(), pod)
}

func (validates[W]) ValidateUpdate(_ context.Context, old, pod *corev1.Pod) (W, error) {
	return W{"update " + old.Labels["do"] + " " + pod.Name}, defaults{}.Default(context.Background(), pod)
}

func (validates[W]) ValidateDelete(_ context.Context, pod *corev1.Pod) (W, error) {
	return W{}, defaults{}.Default(context.Background(), pod)
}

func pod(do, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"do":%q,"gone":"soon"}},`+
		`"spec":{"containers":[{"name":"web","image":"apple","resources":{}},{"name":"log","resources":{}}]}%s}`, do, fields)
}

func review(version, operation, object, old string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/%s","request":{"uid":"705ab4f5","kind":{"group":"","version":"v1","kind":"Pod"},`+
		`"resource":{"group":"","version":"v1","resource":"pods"},"name":"web","namespace":"shop","operation":%q,"userInfo":{"username":"bob"},"object":%s,"oldObject":%s}}`,
		version, operation, object, old)
}

// reviews are the questions, by name.
func reviews() map[string]string {
	all := map[string]string{}
	for _, do := range []string{"", "label", "unlabel", "append", "prepend", "sort", "clear", "image", "drop", "fail", "status", "panic"} {
		for _, operation := range []string{"CREATE", "UPDATE", "DELETE", "CONNECT"} {
			all[fmt.Sprintf("%s %q", operation, do)] = review("v1", operation, pod(do, ""), pod("", ""))
		}
		all[fmt.Sprintf("of the old version %q", do)] = review("v1beta1", "CREATE", pod(do, ""), "null")
		all[fmt.Sprintf("with an unknown field %q", do)] = review("v1", "CREATE", pod(do, `,"unknown":{"a":[1,null]}`), "null")
		all[fmt.Sprintf("deleting what is %q", do)] = review("v1", "DELETE", "null", pod(do, ""))
	}
	for name, object := range map[string]string{
		"null": "null", "a number": "1", "another kind": `{"apiVersion":"v1","kind":"ConfigMap"}`, "no kind": `{"metadata":{"name":"web"}}`,
		"a broken field": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":1}}`, "an unknown kind": `{"apiVersion":"x/v1","kind":"Y"}`,
	} {
		all["the object is "+name] = review("v1", "CREATE", object, "null")
		all["both objects are "+name] = review("v1", "UPDATE", object, object)
	}
	all["an unknown operation"] = review("v1", "EAT", pod("", ""), "null")
	all["no version"] = `{"request":{"uid":"1","operation":"CREATE","object":` + pod("label", "") + `}}`
	return all
}

// answered is an answer, and the object that it leads to.
type answered struct {
	Kind, APIVersion string
	Response         admissionv1.AdmissionResponse
	Object           any
}

func ask(t testing.TB, hook http.Handler, contentType, body string) (a answered) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	hook.ServeHTTP(recorder, request)
	require.Equal(t, http.StatusOK, recorder.Code)
	var answer, question admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &answer))
	a = answered{answer.Kind, answer.APIVersion, *answer.Response, nil}
	if json.Unmarshal([]byte(body), &question) == nil && len(answer.Response.Patch) > 0 {
		operations, err := jsonpatch.DecodePatch(answer.Response.Patch)
		require.NoError(t, err)
		object, err := operations.Apply(question.Request.Object.Raw)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(object, &a.Object))
	}
	a.Response.Patch = nil // Object says what it does
	return a
}

// hooks are webhooks that are made the same way on both sides.
func hooks() map[string][2]http.Handler {
	always := func(response admissionv1.AdmissionResponse, operations ...patch.Operation) (ours.Handler, theirs.Handler) {
		return ours.HandlerFunc(func(context.Context, ours.Request) ours.Response {
				return ours.Response{Patches: operations, AdmissionResponse: *response.DeepCopy()}
			}), theirs.HandlerFunc(func(context.Context, theirs.Request) theirs.Response {
				return theirs.Response{Patches: operations, AdmissionResponse: *response.DeepCopy()}
			})
	}
	add := patch.NewOperation("add", "/metadata/annotations", map[string]any{"a": "b"})
	ourYes, theirYes := always(admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"careful"}}, add)
	ourNo, theirNo := always(admissionv1.AdmissionResponse{Result: &metav1.Status{Code: 418, Message: "tea"}})
	return map[string][2]http.Handler{
		"a defaulter": {ours.WithDefaulter(scheme.Scheme, defaults{}), theirs.WithDefaulter(scheme.Scheme, defaults{})},
		"a defaulter that removes": {ours.WithDefaulter(scheme.Scheme, defaults{}, ours.DefaulterRemoveUnknownOrOmitableFields),
			theirs.WithDefaulter(scheme.Scheme, defaults{}, theirs.DefaulterRemoveUnknownOrOmitableFields)},
		"a validator":                {ours.WithValidator(scheme.Scheme, validates[ours.Warnings]{}), theirs.WithValidator(scheme.Scheme, validates[theirs.Warnings]{})},
		"a handler":                  {&ours.Webhook{Handler: ourYes}, &theirs.Webhook{Handler: theirYes}},
		"several mutating":           {&ours.Webhook{Handler: ours.MultiMutatingHandler(ourYes, ourYes)}, &theirs.Webhook{Handler: theirs.MultiMutatingHandler(theirYes, theirYes)}},
		"several mutating, and a no": {&ours.Webhook{Handler: ours.MultiMutatingHandler(ourYes, ourNo)}, &theirs.Webhook{Handler: theirs.MultiMutatingHandler(theirYes, theirNo)}},
		"several validating":         {&ours.Webhook{Handler: ours.MultiValidatingHandler(ourNo, ourYes)}, &theirs.Webhook{Handler: theirs.MultiValidatingHandler(theirNo, theirYes)}},
	}
}

func TestTheSameReviewsHaveTheSameAnswers(t *testing.T) {
	cases := 0
	for name, pair := range hooks() {
		for question, body := range reviews() {
			object := strings.Contains(body, `"operation":"CREATE","userInfo":{"username":"bob"},"object":{"apiVersion":"v1","kind":"Pod"`)
			if (name == "a handler" || strings.HasPrefix(name, "several")) && !object {
				continue // their patch is for a Pod
			}
			cases++
			require.Equal(t, ask(t, pair[1], "application/json", body), ask(t, pair[0], "application/json", body), "%s is asked about: %s", name, question)
		}
	}
	require.Greater(t, cases, 200)
}

// What is no review cannot be told apart by its UID, so only the code and the refusal must be the same. Ours has the
// UID and the version as well, if they can be found, which the API server needs to take the message.
func TestWhatIsNoReviewIsRefusedOnBothSides(t *testing.T) {
	good := review("v1", "CREATE", pod("", ""), "null")
	pair := hooks()["a validator"]
	for name, c := range map[string]struct{ contentType, body string }{
		"nothing": {"application/json", ""}, "no JSON": {"application/json", "{"}, "text": {"text/plain", good}, "no type": {"", good},
		"another kind": {"application/json", `{"kind":"Pod","apiVersion":"v1"}`}, "a list": {"application/json", "[]"},
		"too much": {"application/json", good + strings.Repeat(" ", 8<<20)}, "cut off": {"application/json", good[:300]},
	} {
		a, b := ask(t, pair[0], c.contentType, c.body), ask(t, pair[1], c.contentType, c.body)
		require.False(t, a.Response.Allowed, name)
		require.False(t, b.Response.Allowed, name)
		require.Equal(t, b.Response.Result.Code, a.Response.Result.Code, name)
	}
	a, b := ask(t, pair[0], "text/plain", good), ask(t, pair[1], "text/plain", good)
	require.Equal(t, b.Response.Result, a.Response.Result)
	require.EqualValues(t, "705ab4f5", a.Response.UID)
	require.Empty(t, b.Response.UID)
}

// With an unknown field in a list that grows at its front, or is sorted, controller-runtime gives the field to another
// element. If this fails, they have changed it, and the chapter's text must say so.
func TestOnlyOursKeepsUnknownFieldsAtTheirElement(t *testing.T) {
	for do, other := range map[string]string{"prepend": "first", "sort": "log"} {
		body := review("v1", "CREATE", strings.Replace(pod(do, ""), `"image":"apple"`, `"image":"apple","future":"web's"`, 1), "null")
		owner := func(hook http.Handler) string {
			for _, c := range ask(t, hook, "application/json", body).Object.(map[string]any)["spec"].(map[string]any)["containers"].([]any) {
				if container := c.(map[string]any); container["future"] != nil {
					return container["name"].(string)
				}
			}
			return "nobody"
		}
		pair := hooks()["a defaulter"]
		require.Equal(t, "web", owner(pair[0]), do)
		require.Equal(t, other, owner(pair[1]), do)
	}
}

// largePod has 21 containers, and DO for what is to be done.
func largePod() string {
	containers := make([]string, 0, 20)
	for i := range 20 {
		containers = append(containers, fmt.Sprintf(`{"name":"c%d","image":"apple","env":[{"name":"A","value":"b"},{"name":"C","value":"d"}],"resources":{}}`, i))
	}
	return strings.Replace(pod("DO", ""), `{"name":"log","resources":{}}`, strings.Join(containers, ","), 1)
}
