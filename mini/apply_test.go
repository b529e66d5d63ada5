package mini_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// owners is a world in which the API server notes who owns which field.
type owners struct {
	*world
	client *mini.Client
}

func withFieldOwners(t *testing.T, test func(o *owners)) {
	inMemoryWith(t, fakeapi.Options{}, func(w *world) {
		test(&owners{w, &mini.Client{Cluster: w.Cluster}})
	})
}

// shopService is the Service that the tests apply to, as a caller has it who knows only its name.
func shopService() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
}

// apply applies without force, and returns what the API server has stored.
func (o *owners) apply(owner string, want mini.Fields) *corev1.Service {
	o.Helper()
	s := shopService()
	require.NoError(o, o.client.Apply(o.ctx, s, want, mini.FieldOwner{Name: owner}))
	return s
}

func (o *owners) stored() *corev1.Service {
	o.Helper()
	s, err := mini.Get[*corev1.Service](o.ctx, o.client, mini.KeyOf(shopService()))
	require.NoError(o, err)
	return s
}

// create makes the Service, for tests that are about its labels.
func (o *owners) create() {
	o.Helper()
	s := shopService()
	s.Spec.ClusterIP = corev1.ClusterIPNone // it needs no port
	_, err := o.Other.CoreV1().Services("default").Create(o.ctx, s, metav1.CreateOptions{})
	require.NoError(o, err)
}

// edit changes the Service as kubectl edit does: the API server never refuses that.
func (o *owners) edit(patch string) *corev1.Service {
	o.Helper()
	s, err := o.Other.CoreV1().Services("default").Patch(o.ctx, "web", types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	require.NoError(o, err)
	return s
}

// labelled are Fields with labels, and ports are Fields with ports.
func labelled(labels mini.Fields) mini.Fields {
	return mini.Fields{"metadata": mini.Fields{"labels": labels}}
}

func ports(ports ...any) mini.Fields { return mini.Fields{"spec": mini.Fields{"ports": ports}} }

var (
	httpPort    = mini.Fields{"name": "http", "port": 80, "targetPort": 8080}
	metricsPort = mini.Fields{"name": "metrics", "port": 9090}
)

// portsOf are the names of a Service's ports.
func portsOf(s *corev1.Service) (names []string) {
	for _, port := range s.Spec.Ports {
		names = append(names, port.Name)
	}
	return names
}

// A caller says what should be there, and doesn't ask first whether it is.
//
// Function: Client.Apply
func TestApplyCreatesAnObjectThatIsNotThere(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		got := o.apply("websites", ports(httpPort))
		require.NotEmpty(o, got.UID, "the object is what the API server has stored")
		require.Equal(o, corev1.ProtocolTCP, got.Spec.Ports[0].Protocol, "with its defaults")
		require.Equal(o, got, o.stored())
		require.Len(o, got.ManagedFields, 1)
		require.Equal(o, "websites", got.ManagedFields[0].Manager, "the owner's name goes with the request")
		require.Equal(o, metav1.ManagedFieldsOperationApply, got.ManagedFields[0].Operation,
			"an apply has a content type of its own")
	})
}

// A controller with two replicas, or one that was restarted, applies the same again and again.
//
// Function: Client.Apply
func TestTheSameApplyAgainChangesNothing(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		first := o.apply("websites", ports(httpPort))
		again := o.apply("websites", ports(httpPort))
		require.Equal(o, first.ResourceVersion, again.ResourceVersion)
	})
}

// Two controllers that write the whole object, or the whole list, would fight forever.
//
// Function: Client.Apply
func TestOwnersOfDifferentFieldsLeaveEachOtherAlone(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.apply("websites", ports(httpPort))
		o.apply("metrics", ports(metricsPort))
		got := o.apply("websites", ports(httpPort))
		require.Equal(o, []string{"http", "metrics"}, portsOf(got), "each has applied one port of the list")
		o.apply("costs", labelled(mini.Fields{"team": "shops"}))
		o.edit(`{"metadata":{"labels":{"by":"hand"}}}`)
		got = o.apply("websites", ports(httpPort))
		require.Equal(o, map[string]string{"team": "shops", "by": "hand"}, got.Labels)
		require.Equal(o, []string{"http", "metrics"}, portsOf(got))
	})
}

// A field that stays when nobody wants it any more is a DNS record of a domain that was sold.
//
// Function: Client.Apply
func TestAFieldThatIsNoLongerAppliedIsRemoved(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		o.apply("websites", labelled(mini.Fields{"a": "1", "b": "1"}))
		o.edit(`{"metadata":{"labels":{"c":"1"}}}`)
		got := o.apply("websites", labelled(mini.Fields{"a": "1"}))
		require.Equal(o, map[string]string{"a": "1", "c": "1"}, got.Labels)
	})
}

// Two teams may want the same label. When one of them goes away, the other one still wants it.
//
// Function: Client.Apply
func TestAFieldWithTwoOwnersStaysUntilBothHaveLetGo(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		o.apply("websites", labelled(mini.Fields{"a": "1", "b": "1"}))
		o.apply("costs", labelled(mini.Fields{"a": "1", "b": "1"})) // the same value is no conflict
		got := o.apply("websites", labelled(mini.Fields{"b": "1"}))
		require.Equal(o, "1", got.Labels["a"], "costs wants it, too")
		got = o.apply("costs", labelled(mini.Fields{"b": "1"}))
		require.NotContains(o, got.Labels, "a")
	})
}

// An object of somebody else that has just been deleted would come back, with nothing but our fields.
func TestAnApplyWithAUIDCreatesNothing(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		old := o.stored()
		require.NoError(o, o.client.Delete(o.ctx, old, metav1.DeleteOptions{}))
		want := mini.Fields{"metadata": mini.Fields{"uid": old.UID, "labels": mini.Fields{"a": "1"}}}
		err := o.client.Apply(o.ctx, shopService(), want, mini.FieldOwner{Name: "costs"})
		require.True(o, apierrors.IsConflict(err), "got %v", err)
		_, err = mini.Get[*corev1.Service](o.ctx, o.client, mini.KeyOf(old))
		require.True(o, apierrors.IsNotFound(err), "got %v", err)
	})
}

// A caller builds what it wants once, and applies it to many objects.
//
// Function: Client.Apply
func TestApplyLeavesWhatItSendsAsItWas(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		want := labelled(mini.Fields{"a": "1"})
		o.apply("websites", want)
		require.Equal(o, labelled(mini.Fields{"a": "1"}), want, "name and kind were written into the caller's map")
	})
}

// An apply of half of what the caller wants would remove the other half.
//
// Function: Client.Apply
func TestWhatCannotBeSentIsAnErrorAndNoRequest(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		err := o.client.Apply(o.ctx, shopService(), mini.Fields{"spec": make(chan int)}, mini.FieldOwner{Name: "ada"})
		require.ErrorContains(o, err, "default/web", "no JSON has a channel; the error says what was to be applied")
		unknown := &metav1.PartialObjectMetadata{ObjectMeta: shopService().ObjectMeta}
		err = o.client.Apply(o.ctx, unknown, labelled(mini.Fields{"a": "1"}), mini.FieldOwner{Name: "ada"})
		require.Error(o, err, "the scheme doesn't know the type")
		require.Len(o, o.stored().ManagedFields, 1, "ada has applied something")
	})
}

// CachedClient waits for each write that it's told of. A write that it doesn't know of is one that
// the next read doesn't show.
//
// Function: Client.Apply
func TestAnApplyIsAWriteLikeAnyOther(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		var wrote []string
		o.client.Wrote = func(obj mini.Object, gone bool) {
			require.False(o, gone)
			wrote = append(wrote, obj.GetResourceVersion())
		}
		got := o.apply("websites", ports(httpPort))
		require.Equal(o, []string{got.ResourceVersion}, wrote)
		cache := mini.NewCache(o.Cluster)
		client := mini.NewCachedClient(cache)
		_, err := cache.Informer(shopService())
		require.NoError(o, err)
		o.run(cache.Run)
		synctest.Wait()
		s := shopService()
		require.NoError(o, client.Apply(o.ctx, s, labelled(mini.Fields{"a": "1"}), mini.FieldOwner{Name: "costs"}))
		read, err := mini.Get[*corev1.Service](o.ctx, client, mini.KeyOf(s))
		require.NoError(o, err)
		require.Equal(o, "1", read.Labels["a"])
	})
}

// A caller that takes the error for "nothing has changed" is wrong, and one that applies again is right.
func TestAnApplyWhoseAnswerIsLostCanBeRepeated(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		remove := o.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch"}, LoseResponse: true})
		mine, want := shopService(), labelled(mini.Fields{"a": "1"})
		require.Error(o, o.client.Apply(o.ctx, mine, want, mini.FieldOwner{Name: "ada"}))
		require.Equal(o, shopService(), mine, "the caller's object is as it was")
		after := o.stored()
		require.Equal(o, "1", after.Labels["a"], "the API server has carried it out")
		remove()
		require.NoError(o, o.client.Apply(o.ctx, mine, want, mini.FieldOwner{Name: "ada"}))
		require.Equal(o, after, o.stored(), "the second one changes nothing")
	})
}

// "409 Conflict" alone doesn't tell a user whom to talk to.
func TestAConflictNamesTheOwnersAndTheirFields(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.apply("websites", ports(httpPort))
		o.edit(`{"metadata":{"labels":{"a":"theirs"}}}`)
		before, mine := o.stored(), shopService()
		want := ports(mini.Fields{"port": 80, "targetPort": 9000})
		want["metadata"] = mini.Fields{"labels": mini.Fields{"a": "mine"}}
		err := o.client.Apply(o.ctx, mine, want, mini.FieldOwner{Name: "ada"})
		var conflict *mini.ApplyConflict
		require.ErrorAs(o, err, &conflict)
		require.ElementsMatch(o, []mini.OwnedField{
			{"kubectl-edit", ".metadata.labels.a"}, {"websites", `.spec.ports[port=80,protocol="TCP"].targetPort`},
		}, conflict.Fields, "one who applies and one who edits")
		require.True(o, apierrors.IsConflict(err))
		require.ErrorContains(o, err, "Apply failed with 2 conflicts", "the API server's sentence stays")
		require.Equal(o, shopService(), mine, "after a failure, the object is as it was")
		require.Equal(o, before, o.stored(), "the apply is refused as a whole")
	})
}

// A name in quotes that ends at the first quote is somebody else's.
//
// Function: asApplyConflict
func TestAnOwnerMayHaveQuotesInItsName(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		o.apply(`the "best" one`, labelled(mini.Fields{"a": "1"}))
		err := o.client.Apply(o.ctx, shopService(), labelled(mini.Fields{"a": "2"}), mini.FieldOwner{Name: "ada"})
		var conflict *mini.ApplyConflict
		require.ErrorAs(o, err, &conflict)
		require.Equal(o, []mini.OwnedField{{`the "best" one`, ".metadata.labels.a"}}, conflict.Fields)
	})
}

// The API server may have said more than whose fields they are.
//
// Function: asApplyConflict
func TestOnlyCausesThatNameAnOwnerAreFieldsOfOwners(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		answer := apierrors.NewApplyConflict([]metav1.StatusCause{
			{Type: metav1.CauseTypeFieldValueInvalid, Message: `conflict with "nobody"`, Field: ".spec"},
			{Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with websites", Field: ".metadata.labels.a"},
		}, "no")
		o.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch"}, Status: &answer.ErrStatus, Times: 1})
		err := o.client.Apply(o.ctx, shopService(), labelled(mini.Fields{"a": "2"}), mini.FieldOwner{Name: "ada"})
		var conflict *mini.ApplyConflict
		require.ErrorAs(o, err, &conflict)
		require.Equal(o, []mini.OwnedField{{"websites", ".metadata.labels.a"}}, conflict.Fields,
			"one cause is about something else, and a name without quotes is the name")
	})
}

// A caller waits for a person after one, and tries again after the other.
//
// Function: asApplyConflict
func TestOtherErrorsAreNoApplyConflicts(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		old := o.apply("websites", labelled(mini.Fields{"a": "1"}))
		o.edit(`{"metadata":{"labels":{"b":"1"}}}`)
		var conflict *mini.ApplyConflict
		want := labelled(mini.Fields{"a": "2"})
		want["metadata"].(mini.Fields)["resourceVersion"] = old.ResourceVersion
		err := o.client.Apply(o.ctx, shopService(), want, mini.FieldOwner{Name: "websites"})
		require.True(o, apierrors.IsConflict(err), "the version is an old one: %v", err)
		require.False(o, errors.As(err, &conflict), "no other owner is in the way: another attempt helps")
		o.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch"}, Status: fakeapi.Forbidden(), Times: 1})
		err = o.client.Apply(o.ctx, shopService(), labelled(mini.Fields{"a": "2"}), mini.FieldOwner{Name: "websites"})
		require.True(o, apierrors.IsForbidden(err), "got %v", err)
		require.False(o, errors.As(err, &conflict))
	})
}

// A controller has no one to ask. What it wants comes from an object that a user can change.
//
// Function: Client.Apply
func TestForceTakesTheFieldFromItsOwner(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		o.create()
		o.apply("ada", labelled(mini.Fields{"a": "1", "b": "1"}))
		s := shopService()
		require.NoError(o, o.client.Apply(o.ctx, s, labelled(mini.Fields{"a": "2"}),
			mini.FieldOwner{Name: "websites", Force: true}))
		require.Equal(o, map[string]string{"a": "2", "b": "1"}, s.Labels)
		has, err := mini.Extract(s, "ada")
		require.NoError(o, err)
		require.Equal(o, labelled(mini.Fields{"b": "1"}), has, "ada has lost the label a, and nothing else")
	})
}

// managed returns a Pod with these managed fields of the owner "me", as FieldsV1 has them.
func managed(fields string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "x",
			Labels:     map[string]string{"a": "1", "b": "2"},
			Finalizers: []string{"example.com/a", "example.com/b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "me", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields),
			}},
		},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"disk": "ssd", "zone": "a"},
			Containers: []corev1.Container{
				{Name: "web", Image: "web:1", Args: []string{"-v", "-x"}, Ports: []corev1.ContainerPort{
					{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP},
					{Name: "dns-tcp", ContainerPort: 53, Protocol: corev1.ProtocolTCP},
				}},
				{Name: "side", Image: "side:1"},
			},
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(9007199254740993))},
		},
	}
}

// extract returns what is extracted as JSON.
func extract(t *testing.T, fields string) string {
	t.Helper()
	got, err := mini.Extract(managed(fields), "me")
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	return string(text)
}

// Function: ownedFields
func TestExtractReturnsTheFieldsOfTheOwner(t *testing.T) {
	require.Equal(t, `{"metadata":{"labels":{"a":"1"}}}`, extract(t, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`),
		"the label b is another owner's")
	require.Equal(t, `{"spec":{"nodeSelector":{"disk":"ssd","zone":"a"}}}`, extract(t, `{"f:spec":{"f:nodeSelector":{}}}`),
		"a map with nothing below it is owned as a whole")
	require.Equal(t, `{"metadata":{"labels":{}}}`, extract(t, `{"f:metadata":{"f:labels":{"f:gone":{}}}}`),
		"the object has no such label")
}

// Function: isItem
func TestExtractFindsItemsByTheirKeys(t *testing.T) {
	got := extract(t, `{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:ports":{`+
		`"k:{\"containerPort\":53,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}}}`)
	require.Equal(t, `{"spec":{"containers":[{"name":"web","ports":[{"name":"dns-tcp"}]}]}}`, got,
		"one port of two: all fields of the key count. One container of two, and not its image")
}

// Function: isItem
func TestExtractFindsTheItemsOfASet(t *testing.T) {
	got := extract(t, `{"f:metadata":{"f:finalizers":{"v:\"example.com/b\"":{}}}}`)
	require.Equal(t, `{"metadata":{"finalizers":["example.com/b"]}}`, got, "one finalizer of two")
}

// A set may have numbers. If its items were missing, the owner's next apply would remove them.
//
// Function: isItem
func TestExtractFindsTheItemsOfASetOfNumbers(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"ports": []any{int64(80), int64(443), int64(9007199254740993)}},
	}}
	obj.SetManagedFields(managed(`{"f:spec":{"f:ports":{"v:443":{},"v:9007199254740993":{}}}}`).ManagedFields)
	got, err := mini.Extract(obj, "me")
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.Equal(t, `{"spec":{"ports":[443,9007199254740993]}}`, string(text), "two ports of three")
}

// JSON has two spellings for many a character. The API server's is not always Go's.
//
// Function: isItem
func TestAnItemOfASetIsFoundInEachSpelling(t *testing.T) {
	for _, spelling := range []string{`a<b`, `a\\u003cb`} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"rules": []any{"a<b", "b<c"}},
		}}
		obj.SetManagedFields(managed(`{"f:spec":{"f:rules":{"v:\"` + spelling + `\"":{}}}}`).ManagedFields)
		got, err := mini.Extract(obj, "me")
		require.NoError(t, err)
		require.Equal(t, mini.Fields{"spec": mini.Fields{"rules": []any{"a<b"}}}, got, "one rule of two")
	}
}

// What can't be read is no item. If it were one, the owner would apply what others have put into the list.
//
// Function: isItem
func TestAnElementThatMeansNoItemSelectsNone(t *testing.T) {
	for _, element := range []string{`k:nonsense`, `v:nonsense`, `i:0`, `k:{\"name\":\"gone\"}`} {
		got := extract(t, `{"f:spec":{"f:containers":{"`+element+`":{}}}}`)
		require.Equal(t, `{"spec":{"containers":[]}}`, got, "%s means no item, and the list of none is empty, not nil", element)
	}
}

// A field may have been a map in an older version of the kind.
//
// Function: ownedPart
func TestAValueThatIsNoMapAndNoListIsReturnedAsItIs(t *testing.T) {
	require.Equal(t, `{"metadata":{"labels":{"a":"1"}}}`, extract(t, `{"f:metadata":{"f:labels":{"f:a":{"f:b":{}}}}}`))
}

// Function: ownedPart
func TestExtractReturnsAListWithoutKeysAsAWhole(t *testing.T) {
	got := extract(t, `{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:args":{}}}}}`)
	require.Equal(t, `{"spec":{"containers":[{"args":["-v","-x"]}]}}`, got, "there's nothing below f:args")
}

// An extract whose items change their places would be applied as another order.
//
// Function: ownedItems
func TestExtractKeepsTheOrderOfAList(t *testing.T) {
	for range 20 { // the order of a map is a matter of luck
		got := extract(t, `{"f:metadata":{"f:finalizers":{"v:\"example.com/b\"":{},"v:\"example.com/a\"":{}}}}`)
		require.Equal(t, `{"metadata":{"finalizers":["example.com/a","example.com/b"]}}`, got)
	}
}

// A float64 would make it 9007199254740992: another user.
func TestExtractKeepsLargeNumbersExactly(t *testing.T) {
	got := extract(t, `{"f:spec":{"f:securityContext":{"f:runAsUser":{}}}}`)
	require.Equal(t, `{"spec":{"securityContext":{"runAsUser":9007199254740993}}}`, got)
}

// An owner that takes over what others own resets it in its next apply.
//
// Function: Extract
func TestExtractReturnsNothingOfOtherOwners(t *testing.T) {
	pod := managed(`{"f:metadata":{"f:labels":{"f:a":{}}}}`)
	for _, owner := range []string{"you", ""} {
		got, err := mini.Extract(pod, owner)
		require.NoError(t, err)
		require.Nil(t, got)
	}
	for _, change := range []struct {
		what   string
		change func(*metav1.ManagedFieldsEntry)
	}{
		{"an update under this name isn't an apply", func(e *metav1.ManagedFieldsEntry) { e.Operation = "Update" }},
		{"the status is applied with a request of its own", func(e *metav1.ManagedFieldsEntry) { e.Subresource = "status" }},
	} {
		pod := managed(`{"f:metadata":{"f:labels":{"f:a":{}}}}`)
		change.change(&pod.ManagedFields[0])
		got, err := mini.Extract(pod, "me")
		require.NoError(t, err)
		require.Nil(t, got, change.what)
		applied := managed(`{"f:metadata":{"f:labels":{"f:b":{}}}}`).ManagedFields
		pod.ManagedFields = append(pod.ManagedFields, applied...)
		got, err = mini.Extract(pod, "me")
		require.NoError(t, err)
		require.Equal(t, labelled(mini.Fields{"b": "2"}), got, "it's in the second entry of this name")
	}
}

// Half of what an owner has, applied, removes the other half.
//
// Function: Extract
func TestFieldsThatCannotBeReadAreAnError(t *testing.T) {
	got, err := mini.Extract(managed(`["f:metadata"]`), "me")
	require.ErrorContains(t, err, `"me"`, "whose fields they are")
	require.Nil(t, got)
	odd := &unstructured.Unstructured{Object: map[string]any{"spec": make(chan int)}} // no JSON has it
	odd.SetManagedFields(managed(`{"f:spec":{}}`).ManagedFields)
	got, err = mini.Extract(odd, "me")
	require.ErrorContains(t, err, `"me"`, "an object that can't be read")
	require.Nil(t, got)
}

// Only then can a program read an object, take what's its own, change one thing of it, and apply it.
//
// Function: Extract
func TestWhatWasAppliedIsWhatIsExtracted(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		want := ports(httpPort, mini.Fields{"name": "dns", "port": 53, "protocol": "UDP"})
		want["metadata"] = mini.Fields{
			"labels": mini.Fields{"a": "1"}, "finalizers": []any{"example.com/a"},
			"ownerReferences": []any{mini.Fields{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}},
		}
		want["spec"].(mini.Fields)["selector"] = mini.Fields{"app": "web"}
		o.apply("websites", want)
		o.apply("metrics", ports(metricsPort))
		o.edit(`{"metadata":{"labels":{"b":"1"},"finalizers":["example.com/a","example.com/b"]}}`)
		got := o.stored()
		require.True(o, mini.HasApplied(got, "websites", want), "got %v", got.ManagedFields)
		has, err := mini.Extract(got, "websites")
		require.NoError(o, err)
		require.Equal(o, got.ResourceVersion, o.apply("websites", has).ResourceVersion, "there was nothing to change")
		has["metadata"].(mini.Fields)["labels"].(mini.Fields)["a"] = "2"
		got = o.apply("websites", has)
		require.Equal(o, map[string]string{"a": "2", "b": "1"}, got.Labels)
		require.Len(o, got.Spec.Ports, 3)
	})
}

// The answer decides whether there's a request. A wrong yes leaves a change unrepaired, and a wrong
// no costs a request in each reconcile.
//
// Function: HasApplied
func TestHasAppliedIsTrueUntilThereIsSomethingToWrite(t *testing.T) {
	withFieldOwners(t, func(o *owners) {
		want := func() mini.Fields { return ports(mini.Fields{"name": "http", "port": 80, "targetPort": 8080}) }
		require.False(o, mini.HasApplied(shopService(), "websites", want()), "there's no such Service")
		got := o.apply("websites", want())
		require.True(o, mini.HasApplied(got, "websites", want()))
		require.False(o, mini.HasApplied(got, "metrics", want()), "another owner has applied them")
		require.True(o, mini.HasApplied(o.edit(`{"metadata":{"labels":{"a":"1"}}}`), "websites", want()),
			"a label that the owner doesn't mention is none of its business")
		more := want()
		more["metadata"] = mini.Fields{"labels": mini.Fields{"a": "1"}}
		require.False(o, mini.HasApplied(o.stored(), "websites", more),
			"the label has the right value, but another owner: it may take it away")
		require.False(o, mini.HasApplied(got, "websites", mini.Fields{"spec": mini.Fields{"ports": []any{}}}),
			"the port has to go")
		got.Spec.Ports[0].TargetPort = intstr.FromInt32(9000)
		got.ResourceVersion = ""
		changed, err := o.Other.CoreV1().Services("default").Update(o.ctx, got, metav1.UpdateOptions{})
		require.NoError(o, err)
		require.False(o, mini.HasApplied(changed, "websites", want()), "the target port was changed")
	})
}

// A yes without evidence would leave the object as it is for good.
//
// Function: HasApplied
func TestTheAnswerIsNoIfTheAPIServerKeepsNoManagedFields(t *testing.T) {
	pod := managed(`{"f:metadata":{"f:labels":{"f:a":{}}}}`)
	require.True(t, mini.HasApplied(pod, "me", labelled(mini.Fields{"a": "1"})))
	pod.ManagedFields = nil // as caches do that save memory
	require.False(t, mini.HasApplied(pod, "me", labelled(mini.Fields{"a": "1"})))
	require.False(t, mini.HasApplied(managed("[[["), "me", labelled(mini.Fields{"a": "1"})),
		"what can't be read is no yes")
	require.False(t, mini.HasApplied(managed("[[["), "me", nil), "nothing is wanted, and what's there can't be read")
	require.False(t, mini.HasApplied(pod, "me", mini.Fields{"spec": make(chan int)}), "what's wanted can't be read")
}
