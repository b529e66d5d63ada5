package mini_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// replicaSet returns one that asks for this many Pods.
func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": name}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

// lamp is a custom resource.
type lamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Bright bool `json:"bright,omitempty"`
	} `json:"spec,omitempty"`
	Status struct {
		Watts int `json:"watts,omitempty"`
	} `json:"status,omitempty"`
}

func (l *lamp) DeepCopyObject() runtime.Object {
	out := *l
	l.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// lampList is what a list of custom resources is decoded into.
type lampList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []lamp `json:"items"`
}

func (l *lampList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = append([]lamp(nil), l.Items...)
	return &out
}

// lamps registers the custom resource with the API server and returns a client for it.
func (w *world) lamps() *mini.Client {
	group := schema.GroupVersion{Group: "example.com", Version: "v1"}
	w.Server.Register(fakeapi.Kind{
		Group: group.Group, Version: group.Version, Kind: "Lamp", Resource: "lamps", Status: true,
	})
	types := runtime.NewScheme()
	types.AddKnownTypeWithName(group.WithKind("Lamp"), &lamp{})
	types.AddKnownTypeWithName(group.WithKind("LampList"), &lampList{})
	metav1.AddToGroupVersion(types, group)
	cluster, err := mini.NewCluster(w.Server.Config(), types)
	require.NoError(w, err)
	return &mini.Client{Cluster: cluster}
}

// asOther returns the ConfigMap as another process reads it.
func (w *world) asOther(name string) *corev1.ConfigMap {
	w.Helper()
	cm, err := w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	return cm
}

// What the caller's object had before must not be mixed with what the server has.
func TestGetReadsFromTheAPIServer(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		want := w.otherCreates(aConfigMap("a", "k", "v"))
		got, err := mini.Get[*corev1.ConfigMap](w.ctx, c, request("a"))
		require.NoError(w, err)
		require.Equal(w, want, got)

		_, err = mini.Get[*corev1.ConfigMap](w.ctx, c, request("b"))
		require.True(w, apierrors.IsNotFound(err), "%v", err)
		require.NoError(w, mini.IgnoreNotFound(err))
		require.NoError(w, mini.IgnoreNotFound(nil))
		require.ErrorIs(w, mini.IgnoreNotFound(io.EOF), io.EOF)
		_, err = mini.Get[*corev1.Namespace](w.ctx, c, mini.Request{Name: "default"})
		require.NoError(w, err, "a kind without namespaces")
		into := &corev1.ConfigMap{Data: map[string]string{"before": "x"}, Immutable: new(true)}
		into.Labels = map[string]string{"before": "x"}
		require.NoError(w, c.Get(w.ctx, request("a"), into))
		require.Equal(w, want, into, "Get merges the object with what was in the Go value")
	})
}

func TestListHasTheObjectsInTheSelection(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		for _, key := range [][3]string{
			{"default", "a", "red"}, {"default", "b", "blue"}, {"kube-system", "c", "red"},
		} {
			cm := aConfigMap(key[1])
			cm.Namespace, cm.Labels = key[0], map[string]string{"color": key[2]}
			w.otherCreates(cm)
		}
		checkSelections(w, c)
	})
}

// Function: Selection.Matches
func TestASelectionMatchesItsNamespaceAndItsLabels(t *testing.T) {
	cm := aConfigMap("a")
	cm.Labels = map[string]string{"color": "red"}
	require.True(t, mini.Selection{}.Matches(cm), "the zero value selects all")
	require.True(t, mini.Selection{Namespace: "default"}.Matches(cm))
	require.False(t, mini.Selection{Namespace: "kube-system"}.Matches(cm))
	for color, want := range inorder.Map(map[string]bool{"red": true, "blue": false}) {
		colored := labels.SelectorFromSet(labels.Set{"color": color})
		require.Equal(t, want, mini.Selection{Namespace: "default", Labels: colored}.Matches(cm))
	}
}

// checkSelections lists ConfigMaps of two namespaces and two colors in all ways.
func checkSelections(w *world, c mini.Reader) {
	w.Helper()
	red := labels.SelectorFromSet(labels.Set{"color": "red"})
	for _, test := range []struct {
		selection mini.Selection
		want      []string
	}{
		{mini.Selection{}, []string{"a", "b", "c"}},
		{mini.Selection{Namespace: "default"}, []string{"a", "b"}},
		{mini.Selection{Labels: red}, []string{"a", "c"}},
		{mini.Selection{Namespace: "default", Labels: red}, []string{"a"}},
		{mini.Selection{Namespace: "none"}, nil},
		{mini.Selection{Labels: labels.Nothing()}, nil},
	} {
		all, err := mini.List[*corev1.ConfigMap](w.ctx, c, test.selection)
		require.NoError(w, err)
		var names []string
		for _, cm := range all {
			names = append(names, cm.Name)
		}
		require.Equal(w, test.want, names, "%+v", test.selection)
		objs, err := c.List(w.ctx, &corev1.ConfigMap{}, test.selection)
		require.NoError(w, err)
		require.Len(w, objs, len(test.want))
	}
}

// The caller needs the UID and the version from the server.
func TestAfterCreateTheObjectIsWhatTheServerHasStored(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		rs := replicaSet("web", 3)
		rs.Spec.Template.Spec.RestartPolicy = ""
		require.NoError(w, c.Create(w.ctx, rs))
		require.NotEmpty(w, rs.UID)
		require.NotEmpty(w, rs.ResourceVersion)
		require.Equal(w, corev1.RestartPolicyAlways, rs.Spec.Template.Spec.RestartPolicy, "a default")

		err := c.Create(w.ctx, replicaSet("web", 3))
		require.True(w, apierrors.IsAlreadyExists(err), "%v", err)
	})
}

func TestTheServerChoosesAGeneratedName(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		one, two := aConfigMap(""), aConfigMap("")
		one.GenerateName, two.GenerateName = "a-", "a-"
		require.NoError(w, c.Create(w.ctx, one))
		require.NoError(w, c.Create(w.ctx, two))
		require.Regexp(w, "^a-.+", one.Name)
		require.NotEqual(w, one.Name, two.Name)
		require.Equal(w, one.UID, w.asOther(one.Name).UID)
	})
}

// You look for a Pod in a recording, and the Pod's creation has no name.
//
// Function: Client.send
func TestACreationIsRecordedWithTheNameThatTheServerHasChosen(t *testing.T) {
	inMemory(t, func(w *world) {
		cm := aConfigMap("")
		cm.GenerateName = "a-"
		require.NoError(w, (&mini.Client{Cluster: w.Cluster}).Create(w.ctx, cm))
		require.Equal(w, cm.Name, w.Cluster.Trace.Events()[0].Name)
	})
}

// Function: Client.Update
func TestAnUpdateReplacesTheObject(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		w.otherCreates(aConfigMap("a", "k", "v"))
		cm := w.asOther("a")
		before := cm.ResourceVersion
		cm.Data = map[string]string{"other": "w"}
		require.NoError(w, c.Update(w.ctx, cm))
		require.NotEqual(w, before, cm.ResourceVersion)
		require.Equal(w, cm, w.asOther("a"))
		require.Equal(w, map[string]string{"other": "w"}, cm.Data)

		err := c.Update(w.ctx, aConfigMap("b"))
		require.True(w, apierrors.IsNotFound(err), "%v", err)
	})
}

// Function: Client.Update
func TestAnUpdateOfAnOldVersionIsAConflict(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		mine := w.otherCreates(aConfigMap("a"))
		theirs := mine.DeepCopy()
		theirs.Data = map[string]string{"from": "another process"}
		w.otherUpdates(theirs)
		mine.Data = map[string]string{"from": "me"}
		before := mine.DeepCopy()
		err := c.Update(w.ctx, mine)
		require.True(w, apierrors.IsConflict(err), "%v", err)
		require.Equal(w, before, mine, "after a failure the object is as it was")
		require.Equal(w, theirs.Data, w.asOther("a").Data, "the other client's change is lost")
	})
}

func TestAnUpdateWithoutAVersionOverwritesBuiltInKindsOnly(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		w.otherCreates(aConfigMap("a", "from", "another process"))
		require.NoError(w, c.Update(w.ctx, aConfigMap("a", "from", "me")))
		require.Equal(w, map[string]string{"from": "me"}, w.asOther("a").Data)

		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "l"}}
		require.NoError(w, c.Create(w.ctx, lease))
		lease.ResourceVersion = ""
		require.True(w, apierrors.IsInvalid(c.Update(w.ctx, lease)))

		custom, obj := w.lamps(), &lamp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "desk"}}
		require.NoError(w, custom.Create(w.ctx, obj))
		obj.ResourceVersion = ""
		require.True(w, apierrors.IsInvalid(custom.Update(w.ctx, obj)))
	})
}

// Function: receive
func TestAFieldThatTheServerDropsIsGoneFromTheObject(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		rs := replicaSet("web", 1)
		require.NoError(w, c.Create(w.ctx, rs))
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: "Full", Status: "True"}}
		rs.Status.Replicas = 7
		rs.Labels = map[string]string{"a": "b"}
		require.NoError(w, c.Update(w.ctx, rs))
		require.Zero(w, rs.Status, "Update leaves the status alone, and the object says so")
		require.Equal(w, map[string]string{"a": "b"}, rs.Labels)
	})
}

// A controller whose status is ignored looks dead to its users.
//
// Function: Client.UpdateStatus
func TestUpdateStatusChangesTheStatus(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		rs := replicaSet("web", 1)
		require.NoError(w, c.Create(w.ctx, rs))
		rs.Spec.Replicas, rs.Status.Replicas = new(int32(5)), 3
		require.NoError(w, c.UpdateStatus(w.ctx, rs))
		require.EqualValues(w, 3, rs.Status.Replicas)
		require.EqualValues(w, 1, *rs.Spec.Replicas, "the spec is the user's")

		rs.ResourceVersion = "1"
		require.True(w, apierrors.IsConflict(c.UpdateStatus(w.ctx, rs)))

		custom, obj := w.lamps(), &lamp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "desk"}}
		require.NoError(w, custom.Create(w.ctx, obj))
		obj.Labels, obj.Spec.Bright, obj.Status.Watts = map[string]string{"a": "b"}, true, 5
		require.NoError(w, custom.UpdateStatus(w.ctx, obj))
		require.Equal(w, 5, obj.Status.Watts)
		require.Empty(w, obj.Labels, "nothing else of a custom resource changes")
		require.False(w, obj.Spec.Bright)
	})
}

// Function: Client.Patch
func TestAPatchChangesAPart(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		w.otherCreates(aConfigMap("a", "k", "v"))
		cm := aConfigMap("a", "not", "sent")
		require.NoError(w, c.Patch(w.ctx, cm, types.MergePatchType, []byte(`{"data":{"l":"w"}}`)))
		require.Equal(w, map[string]string{"k": "v", "l": "w"}, cm.Data)
		require.Equal(w, cm, w.asOther("a"))

		err := c.Patch(w.ctx, cm, types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"}}`))
		require.True(w, apierrors.IsConflict(err), "%v", err)
		err = c.Patch(w.ctx, aConfigMap("b"), types.MergePatchType, []byte(`{}`))
		require.True(w, apierrors.IsNotFound(err), "%v", err)
		require.NoError(w, c.Patch(w.ctx, cm, types.JSONPatchType, []byte(`[{"op":"remove","path":"/data/k"}]`)))
		require.Equal(w, map[string]string{"l": "w"}, cm.Data)
	})
}

// Function: Client.Delete
func TestDeleteDeletes(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		cm := w.otherCreates(aConfigMap("a"))
		before := cm.DeepCopy()
		require.NoError(w, c.Delete(w.ctx, cm, metav1.DeleteOptions{}))
		require.Equal(w, before, cm, "Delete does not change the object")
		err := c.Delete(w.ctx, aConfigMap("a"), metav1.DeleteOptions{})
		require.True(w, apierrors.IsNotFound(err), "%v", err)

		w.otherCreates(aConfigMap("a"))
		require.NoError(w, c.Delete(w.ctx, aConfigMap("a"), metav1.DeleteOptions{}), "by its name alone")

		rs := replicaSet("web", 1)
		require.NoError(w, c.Create(w.ctx, rs))
		foreground := metav1.DeletePropagationForeground
		require.NoError(w, c.Delete(w.ctx, rs, metav1.DeleteOptions{PropagationPolicy: &foreground}))
		require.NoError(w, c.Get(w.ctx, request("web"), rs))
		require.NotNil(w, rs.DeletionTimestamp, "it has a finalizer, so it still exists")
	})
}

// Function: Client.Delete
func TestDeleteDoesNotHitAnotherObjectOfThatName(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		old := w.otherCreates(aConfigMap("a"))
		w.otherDeletes("a")
		second := w.otherCreates(aConfigMap("a"))
		err := c.Delete(w.ctx, old, metav1.DeleteOptions{})
		require.True(w, apierrors.IsConflict(err), "%v", err)
		require.Equal(w, second.UID, w.asOther("a").UID)

		third := &metav1.Preconditions{ResourceVersion: new("1")}
		err = c.Delete(w.ctx, second, metav1.DeleteOptions{Preconditions: third})
		require.True(w, apierrors.IsConflict(err), "the caller's preconditions count: %v", err)
		require.Nil(w, third.UID, "they belong to the caller")
	})
}

func TestCustomKindsAreReadAndWritten(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.lamps()
		obj := &lamp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "desk"}}
		obj.Spec.Bright = true
		require.NoError(w, c.Create(w.ctx, obj))
		require.NotEmpty(w, obj.UID)
		got, err := mini.Get[*lamp](w.ctx, c, request("desk"))
		require.NoError(w, err)
		require.True(w, got.Spec.Bright)
		got.Spec.Bright = false
		require.NoError(w, c.Update(w.ctx, got))
		all, err := mini.List[*lamp](w.ctx, c, mini.Selection{})
		require.NoError(w, err)
		require.Len(w, all, 1)
		require.False(w, all[0].Spec.Bright)
		require.NoError(w, c.Delete(w.ctx, all[0], metav1.DeleteOptions{}))
		_, err = mini.Get[*lamp](w.ctx, c, request("desk"))
		require.True(w, apierrors.IsNotFound(err), "%v", err)
	})
}

func TestATypeThatTheSchemeDoesNotKnowIsAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		c, obj := &mini.Client{Cluster: w.Cluster}, &lamp{}
		obj.Namespace, obj.Name = "default", "desk"
		for verb, err := range inorder.Map(map[string]error{
			"get": c.Get(w.ctx, request("desk"), obj), "create": c.Create(w.ctx, obj),
			"update": c.Update(w.ctx, obj), "update status": c.UpdateStatus(w.ctx, obj),
			"patch":  c.Patch(w.ctx, obj, types.MergePatchType, []byte("{}")),
			"delete": c.Delete(w.ctx, obj, metav1.DeleteOptions{}),
		}) {
			require.ErrorContains(w, err, "lamp", verb)
		}
		_, err := c.List(w.ctx, obj, mini.Selection{})
		require.ErrorContains(w, err, "lamp")
		require.Empty(w, w.Server.Requests(fakeapi.Match{}), "there is nothing to ask for")
	})
}

// An empty list without an error would look like a cluster without objects.
func TestARequestThatFailsIsAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		c, cm := &mini.Client{Cluster: w.Cluster}, aConfigMap("a")
		w.Server.Inject(fakeapi.Fault{Match: listsOfMaps, Status: fakeapi.Forbidden()})
		_, err := c.List(w.ctx, cm, mini.Selection{})
		require.True(w, apierrors.IsForbidden(err), "%v", err)

		nowhere, err := mini.NewCluster(&rest.Config{Host: "http://no host"}, scheme.Scheme)
		if err != nil {
			return // it may as well be found at once
		}
		c = &mini.Client{Cluster: nowhere}
		require.Error(w, c.Get(w.ctx, request("a"), cm))
		require.Error(w, c.Create(w.ctx, cm))
	})
}

// wrongAnswer answers every request with a Pod.
type wrongAnswer struct{}

func (wrongAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	body, err := runtime.Encode(scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), pod)
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, err
}

func TestAnAnswerOfAnotherTypeIsAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		config := w.Server.Config()
		config.Transport = wrongAnswer{}
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		require.NoError(w, err)
		c := &mini.Client{Cluster: cluster, Wrote: func(mini.Object, bool) { w.Error("nothing was written") }}
		cm := aConfigMap("a", "k", "v")
		require.Error(w, c.Get(w.ctx, request("a"), cm), "a Pod isn't a ConfigMap")
		require.Error(w, c.Update(w.ctx, cm))
		require.Equal(w, aConfigMap("a", "k", "v"), cm)
	})
}

func TestAContextThatEndsEndsTheRequest(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "get"}, Hang: true})
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		err := (&mini.Client{Cluster: w.Cluster}).Get(ctx, request("a"), aConfigMap(""))
		require.True(w, errors.Is(err, context.DeadlineExceeded), "%v", err)
	})
}

func TestWroteHearsOfEachWriteThatSucceeds(t *testing.T) {
	inMemory(t, func(w *world) {
		var heard []string
		c := &mini.Client{Cluster: w.Cluster, Wrote: func(obj mini.Object, gone bool) {
			text := obj.GetName()
			if gone {
				text += " is gone"
			}
			require.NotEmpty(w, obj.GetUID())
			heard = append(heard, text)
		}}
		cm := aConfigMap("a")
		require.NoError(w, c.Create(w.ctx, cm))
		require.NoError(w, c.Get(w.ctx, request("a"), cm))
		require.NoError(w, c.Update(w.ctx, cm))
		require.Error(w, c.Update(w.ctx, aConfigMap("b")))
		require.NoError(w, c.Patch(w.ctx, cm, types.MergePatchType, []byte("{}")))
		require.NoError(w, c.Delete(w.ctx, aConfigMap("a"), metav1.DeleteOptions{}))
		require.Error(w, c.Delete(w.ctx, aConfigMap("a"), metav1.DeleteOptions{}))
		require.Equal(w, []string{"a", "a", "a", "a is gone"}, heard)
		heard = nil

		blocked := aConfigMap("b")
		blocked.Finalizers = []string{"example.com/f"}
		require.NoError(w, c.Create(w.ctx, blocked))
		require.NoError(w, c.Delete(w.ctx, blocked, metav1.DeleteOptions{}))
		require.NoError(w, c.Get(w.ctx, request("b"), blocked))
		require.NotNil(w, blocked.DeletionTimestamp)
		blocked.Finalizers = nil
		require.NoError(w, c.Update(w.ctx, blocked))
		require.Equal(w, []string{"b", "b", "b is gone"}, heard,
			"removing the last finalizer ends the object")
		heard = nil

		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: corev1.PodSpec{
			NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}
		require.NoError(w, c.Create(w.ctx, pod))
		require.NoError(w, c.Delete(w.ctx, pod, metav1.DeleteOptions{}))
		require.NoError(w, c.Get(w.ctx, request("p"), pod))
		pod.Labels = map[string]string{"a": "b"}
		require.NoError(w, c.Update(w.ctx, pod), "a Pod that is ending can be updated")
		require.NoError(w, c.Delete(w.ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		require.Equal(w, []string{"p", "p", "p", "p is gone"}, heard)
		heard = nil

		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
		require.NoError(w, c.Create(w.ctx, account))
		require.NoError(w, c.Delete(w.ctx, account, metav1.DeleteOptions{}))
		require.Equal(w, []string{"s", "s is gone"}, heard, "the answer is the object that was deleted")
		heard = nil

		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		require.NoError(w, c.Create(w.ctx, namespace))
		require.NoError(w, c.Delete(w.ctx, namespace, metav1.DeleteOptions{}))
		require.NoError(w, c.Get(w.ctx, mini.Request{Name: "n"}, namespace))
		require.NoError(w, c.UpdateStatus(w.ctx, namespace))
		require.Equal(w, []string{"n", "n", "n"}, heard, "a Namespace stays while its spec has a finalizer")
	})
}

// The API server of an extension may answer in fewer words than Kubernetes' own.
func TestAShortAnswerToADeletionMeansThatTheObjectWasDeleted(t *testing.T) {
	for _, answer := range []string{
		`{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"deletionTimestamp":"2000-01-01T00:00:00Z"}}`,
	} {
		config := &rest.Config{Host: "proxy", Transport: answering(answer)}
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		require.NoError(t, err)
		var ends []bool
		c := &mini.Client{Cluster: cluster, Wrote: func(_ mini.Object, gone bool) { ends = append(ends, gone) }}
		require.NoError(t, c.Delete(t.Context(), aConfigMap("a"), metav1.DeleteOptions{}))
		require.Equal(t, []bool{true}, ends, "the object was deleted: %s", answer)
		if err := c.Update(t.Context(), aConfigMap("a")); strings.Contains(answer, "Status") {
			require.Error(t, err, "only a deletion is answered with a Status")
			require.Len(t, ends, 1)
		}
	}
}

func TestTheFlightRecorderShowsWrites(t *testing.T) {
	inMemory(t, func(w *world) {
		c, cm := &mini.Client{Cluster: w.Cluster}, aConfigMap("a")
		require.NoError(w, c.Create(w.ctx, cm))
		require.NoError(w, c.Get(w.ctx, request("a"), cm))
		cm.ResourceVersion = "1"
		require.Error(w, c.Update(w.ctx, cm))
		inReconcile := trace.WithReconcile(w.ctx, "shop", "", "default", "one")
		require.Error(w, c.UpdateStatus(inReconcile, aConfigMap("b")))
		events := w.Cluster.Trace.Events()
		require.Equal(w, []string{"write", "write", "write"}, kinds(w.Cluster.Trace))
		require.Equal(w, "create ConfigMap a", events[0].Op+" "+events[0].Object+" "+events[0].Name)
		require.Zero(w, events[0].Outcome)
		require.NotEmpty(w, events[0].Version)
		require.Equal(w, trace.Conflict, events[1].Outcome)
		require.Equal(w, trace.Failed, events[2].Outcome)
		require.NotEmpty(w, events[2].Reason)
		require.Equal(w, "client", events[0].Layer)
		require.Less(w, events[0].Took, time.Hour)
		require.Equal(w, "shop default one",
			events[2].Layer+" "+events[2].ToNamespace+" "+events[2].ToName, "who wrote, and for what")
	})
}

// A load balancer that has lost its API servers answers 404. A controller that believes
// it would clean up after a running Pod.
//
// Function: Client.send
func TestA404PageIsNotTheAPIServersWord(t *testing.T) {
	for what, answer := range inorder.Map(notFoundPages) {
		t.Run(what, func(t *testing.T) {
			inMemory(t, func(w *world) {
				there := w.createMap("a", "1")
				c := &mini.Client{Cluster: w.behindProxy(
					func(_ *http.Request, response *http.Response) { answer(response) })}
				key := mini.KeyOf(there)
				got, err := mini.Get[*corev1.ConfigMap](w.ctx, c, key)
				require.Empty(w, got)
				_, listing := c.List(w.ctx, there, mini.Selection{})
				for verb, err := range inorder.Map(map[string]error{
					"get":           err,
					"list":          listing,
					"create":        c.Create(w.ctx, configMap("new", "1")),
					"update":        c.Update(w.ctx, there.DeepCopy()),
					"update status": c.UpdateStatus(w.ctx, there.DeepCopy()),
					"patch":         c.Patch(w.ctx, there.DeepCopy(), types.MergePatchType, []byte("{}")),
					"delete":        c.Delete(w.ctx, there, metav1.DeleteOptions{}),
				}) {
					require.Error(w, err, verb)
					require.False(w, apierrors.IsNotFound(err), "%s: the API server hasn't said that it was deleted: %v", verb, err)
					require.Error(w, mini.IgnoreNotFound(err), verb)
				}
			})
		})
	}
}

// The user has to find out who answered.
//
// Function: Client.send
func TestA404PageIsQuotedInTheError(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.behindProxy(func(_ *http.Request, response *http.Response) {
			page(response, http.StatusNotFound, "text/plain", "default backend - 404")
		})}
		_, err := mini.Get[*corev1.ConfigMap](w.ctx, c, mini.Request{Namespace: "default", Name: "a"})
		require.ErrorContains(w, err, "default backend - 404")
		require.ErrorContains(w, err, "get configmaps a")
	})
}

func TestTheAPIServersNotFoundIsBelieved(t *testing.T) {
	inMemory(t, func(w *world) {
		c := &mini.Client{Cluster: w.Cluster}
		gone := configMap("gone", "1")
		_, err := mini.Get[*corev1.ConfigMap](w.ctx, c, mini.KeyOf(gone))
		for verb, err := range inorder.Map(map[string]error{
			"get":    err,
			"patch":  c.Patch(w.ctx, gone.DeepCopy(), types.MergePatchType, []byte("{}")),
			"delete": c.Delete(w.ctx, gone, metav1.DeleteOptions{}),
		}) {
			require.True(w, apierrors.IsNotFound(err), "%s: %v", verb, err)
		}
	})
}

// A real API server gives this answer to an update if the namespace was deleted with the
// object.
func TestAnObjectWhoseNamespaceIsMissingIsMissing(t *testing.T) {
	inMemory(t, func(w *world) {
		obj := configMap("left", "1")
		obj.Namespace = "nowhere"
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Status: &apierrors.NewNotFound(
			schema.GroupResource{Resource: "namespaces"}, "nowhere").ErrStatus})
		client := &mini.Client{Cluster: w.Cluster}
		require.NoError(t, mini.IgnoreNotFound(client.Update(w.ctx, obj)))
		obj.Namespace = "elsewhere"
		require.False(t, apierrors.IsNotFound(client.Update(w.ctx, obj)), "it's in another namespace")
	})
}

// A Pod has the name of its namespace. A missing namespace says nothing about a Pod.
//
// Function: Client.send
func TestAMissingNamespaceIsNotAMissingObject(t *testing.T) {
	inMemory(t, func(w *world) {
		obj := configMap("nowhere", "1")
		obj.Namespace = "nowhere"
		err := (&mini.Client{Cluster: w.Cluster}).Create(w.ctx, obj)
		require.ErrorContains(w, err, `namespaces "nowhere" not found`)
		require.False(w, apierrors.IsNotFound(err))
	})
}
