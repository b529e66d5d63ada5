package client

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// said are the fields of options that are not zero, such as "Limit=5".
func said(options reflect.Value) []string {
	var out []string
	for i := range options.NumField() {
		field, value := options.Type().Field(i), options.Field(i)
		switch {
		case value.IsZero():
		case field.Anonymous:
			out = append(out, said(value)...)
		case value.CanInterface() && value.Type().Implements(reflect.TypeFor[fmt.Stringer]()):
			out = append(out, field.Name+"="+value.Interface().(fmt.Stringer).String())
		default:
			data, err := json.Marshal(value.Interface())
			if err != nil {
				panic(err)
			}
			out = append(out, field.Name+"="+string(data))
		}
	}
	return out
}

// applyTo calls one of an option's methods ApplyTo... on new options, and returns these.
func applyTo(method reflect.Value) reflect.Value {
	options := reflect.New(method.Type().In(0).Elem())
	method.Call([]reflect.Value{options})
	return options.Elem()
}

// A user who loses one of these has an option that does nothing, or one that does something else as
// well; one that is new here is an option where controller-runtime has none.
func TestAnOptionSetsItsFieldAndNoOther(t *testing.T) {
	const writes = "Apply Create Patch SubResourceApply SubResourceCreate SubResourcePatch SubResourceUpdate Update"
	for _, c := range []struct {
		option any
		kinds  string // of calls that take it
		want   string
	}{
		{DryRunAll, writes + " Delete DeleteAllOf", `DryRun=["All"]`},
		{FieldOwner("me"), writes, `FieldManager="me"`},
		{FieldValidation("Warn"), "Create Patch SubResourceCreate SubResourcePatch SubResourceUpdate Update", `FieldValidation="Warn"`},
		{ForceOwnership, "Apply Patch SubResourceApply SubResourcePatch", "Force=true"},
		{DisableReadYourWritesConsistency, writes + " Delete Get List", "DisableReadYourWritesConsistency=true"},
		{UnsafeDisableDeepCopy, "Get List", "UnsafeDisableDeepCopy=true"},
		{UnsafeDisableDeepCopyOption(false), "Get List", "UnsafeDisableDeepCopy=false"},
		{GracePeriodSeconds(0), "Delete DeleteAllOf", "GracePeriodSeconds=0"},
		{PropagationPolicy(metav1.DeletePropagationOrphan), "Delete DeleteAllOf", `PropagationPolicy="Orphan"`},
		{Preconditions{ResourceVersion: new(string)}, "Delete DeleteAllOf", `Preconditions=&Preconditions{UID:nil,ResourceVersion:*,}`},
		{InNamespace("shop"), "DeleteAllOf List", `Namespace="shop"`},
		{MatchingLabels{"a": "b"}, "DeleteAllOf List", "LabelSelector=a=b"},
		{HasLabels{"a", "b"}, "DeleteAllOf List", "LabelSelector=a,b"},
		{MatchingLabelsSelector{labels.SelectorFromSet(labels.Set{"a": "b"})}, "DeleteAllOf List", "LabelSelector=a=b"},
		{MatchingFields{"a": "b"}, "DeleteAllOf List", "FieldSelector=a=b"},
		{MatchingFieldsSelector{fields.OneTermEqualSelector("a", "b")}, "DeleteAllOf List", "FieldSelector=a=b"},
		{Limit(5), "List", "Limit=5"},
		{Continue("there"), "List", `Continue="there"`},
		{MergeFromWithOptimisticLock{}, "MergeFrom", "OptimisticLock=true"},
	} {
		var kinds []string
		option := reflect.ValueOf(c.option)
		for i := range option.NumMethod() {
			kind, found := strings.CutPrefix(option.Type().Method(i).Name, "ApplyTo")
			if !found {
				continue
			}
			kinds = append(kinds, kind)
			options := applyTo(option.Method(i))
			require.Equal(t, kind+"Options", options.Type().Name(), "%T", c.option)
			require.Equal(t, []string{c.want}, said(options), "%T.ApplyTo%s must set this field, and leave the others as they are", c.option, kind)
		}
		want := strings.Fields(c.kinds)
		slices.Sort(want)
		slices.Sort(kinds)
		require.Equal(t, want, kinds, "the calls that take a %T", c.option)
	}
}

// fill sets all fields of options to something, so that those can be told apart that an option has
// changed.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			fill(value.Field(i))
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 0, 0))
	case reflect.String:
		value.SetString("set")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int64:
		value.SetInt(7)
	case reflect.Interface:
		for _, candidate := range []any{labels.Everything(), fields.Everything(), configMap("body")} {
			if reflect.TypeOf(candidate).Implements(value.Type()) {
				value.Set(reflect.ValueOf(candidate))
			}
		}
		if value.IsNil() {
			value.Set(reflect.ValueOf(ApplyConfigurationFromUnstructured(widget("body"))))
		}
	default:
		panic(value.Type().String())
	}
}

// Programs pass a struct where they have several options, and helpers pass theirs on.
func TestAStructOfOptionsSetsWhatIsSetInItAndLeavesTheRest(t *testing.T) {
	for _, options := range []any{
		&GetOptions{}, &ListOptions{}, &CreateOptions{}, &UpdateOptions{}, &PatchOptions{}, &ApplyOptions{}, &DeleteOptions{}, &DeleteAllOfOptions{},
		&SubResourceGetOptions{}, &SubResourceCreateOptions{}, &SubResourceUpdateOptions{}, &SubResourcePatchOptions{}, &SubResourceApplyOptions{},
	} {
		name := reflect.TypeOf(options).Elem().Name()
		method := "ApplyTo" + strings.TrimSuffix(name, "Options")
		full := reflect.New(reflect.TypeOf(options).Elem())
		fill(full.Elem())

		applied := applyTo(full.MethodByName(method))
		require.Equal(t, full.Elem().Interface(), applied.Interface(), "%s must pass on all that is set in it", name)

		untouched := reflect.New(full.Type().Elem())
		fill(untouched.Elem())
		reflect.ValueOf(options).MethodByName(method).Call([]reflect.Value{untouched})
		require.Equal(t, full.Elem().Interface(), untouched.Elem().Interface(), "%s must not overwrite what is set with what it does not say", name)

		all := reflect.ValueOf(options).MethodByName("ApplyOptions")
		if name == "SubResourceApplyOptions" {
			all = reflect.ValueOf(options).MethodByName("ApplyOpts")
		}
		list := reflect.MakeSlice(all.Type().In(0), 0, 1)
		result := all.Call([]reflect.Value{reflect.Append(list, full)})[0]
		require.Equal(t, options, result.Interface(), "%s.ApplyOptions returns what it was called on", name)
		require.Equal(t, full.Elem().Interface(), reflect.ValueOf(options).Elem().Interface(), name)
	}
}

func TestALaterOptionWins(t *testing.T) {
	options := (&CreateOptions{}).ApplyOptions([]CreateOption{FieldOwner("first"), DryRunAll, FieldOwner("second")})
	require.Equal(t, &CreateOptions{FieldManager: "second", DryRun: []string{"All"}}, options)
}

func TestTheServerIsSentWhatTheOptionsSay(t *testing.T) {
	yes, all := true, []string{metav1.DryRunAll}
	seconds, policy := int64(3), metav1.DeletePropagationForeground
	preconditions := &metav1.Preconditions{}

	require.Equal(t, &metav1.CreateOptions{DryRun: all, FieldManager: "me", FieldValidation: "Warn"},
		(&CreateOptions{DryRun: all, FieldManager: "me", FieldValidation: "Warn"}).AsCreateOptions())
	require.Equal(t, &metav1.UpdateOptions{DryRun: all, FieldManager: "me", FieldValidation: "Warn"},
		(&UpdateOptions{DryRun: all, FieldManager: "me", FieldValidation: "Warn"}).AsUpdateOptions())
	require.Equal(t, &metav1.PatchOptions{DryRun: all, Force: &yes, FieldManager: "me", FieldValidation: "Warn"},
		(&PatchOptions{DryRun: all, Force: &yes, FieldManager: "me", FieldValidation: "Warn"}).AsPatchOptions())
	require.Equal(t, &metav1.PatchOptions{DryRun: all, Force: &yes, FieldManager: "me"},
		(&ApplyOptions{DryRun: all, Force: &yes, FieldManager: "me"}).AsPatchOptions())
	require.Equal(t, &metav1.DeleteOptions{DryRun: all, GracePeriodSeconds: &seconds, Preconditions: preconditions, PropagationPolicy: &policy},
		(&DeleteOptions{DryRun: all, GracePeriodSeconds: &seconds, Preconditions: preconditions, PropagationPolicy: &policy}).AsDeleteOptions())
	require.Equal(t, &metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "c=d", Limit: 5, Continue: "there"},
		(&ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"}), FieldSelector: fields.OneTermEqualSelector("c", "d"), Limit: 5, Continue: "there"}).AsListOptions())

	require.Equal(t, &metav1.GetOptions{}, (&GetOptions{}).AsGetOptions())
	require.Equal(t, &metav1.GetOptions{}, (&SubResourceGetOptions{}).AsGetOptions())
	raw := &metav1.GetOptions{ResourceVersion: "7"}
	require.Equal(t, raw, (&GetOptions{Raw: raw}).AsGetOptions())
	require.Equal(t, raw, (&SubResourceGetOptions{Raw: raw}).AsGetOptions())
}

func TestNilOptionsSayNothing(t *testing.T) {
	require.Equal(t, &metav1.CreateOptions{}, (*CreateOptions)(nil).AsCreateOptions())
	require.Equal(t, &metav1.UpdateOptions{}, (*UpdateOptions)(nil).AsUpdateOptions())
	require.Equal(t, &metav1.PatchOptions{}, (*PatchOptions)(nil).AsPatchOptions())
	require.Equal(t, &metav1.DeleteOptions{}, (*DeleteOptions)(nil).AsDeleteOptions())
	require.Equal(t, &metav1.ListOptions{}, (*ListOptions)(nil).AsListOptions())
	require.Equal(t, &metav1.GetOptions{}, (*GetOptions)(nil).AsGetOptions())
}

// In controller-runtime, a dry run or a precondition in Raw is overwritten with nothing: the object
// is written, or deleted, after all.
func TestRawOptionsCountWhereNothingElseIsSaid(t *testing.T) {
	all := []string{metav1.DryRunAll}
	create := &metav1.CreateOptions{DryRun: all, FieldManager: "raw", FieldValidation: "Warn"}
	require.Equal(t, create, (&CreateOptions{Raw: create}).AsCreateOptions())
	require.Equal(t, &metav1.CreateOptions{DryRun: all, FieldManager: "me", FieldValidation: "Warn"}, (&CreateOptions{FieldManager: "me", Raw: create}).AsCreateOptions())
	update := &metav1.UpdateOptions{DryRun: all, FieldManager: "raw", FieldValidation: "Warn"}
	require.Equal(t, update, (&UpdateOptions{Raw: update}).AsUpdateOptions())
	require.Equal(t, &metav1.UpdateOptions{DryRun: all, FieldManager: "raw", FieldValidation: "Strict"}, (&UpdateOptions{FieldValidation: "Strict", Raw: update}).AsUpdateOptions())
	patch := &metav1.PatchOptions{DryRun: all, FieldManager: "raw", Force: yes(), FieldValidation: "Warn"}
	require.Equal(t, patch, (&PatchOptions{Raw: patch}).AsPatchOptions())
	remove := &metav1.DeleteOptions{DryRun: all, Preconditions: metav1.NewUIDPreconditions("u"), GracePeriodSeconds: new(int64), PropagationPolicy: new(metav1.DeletionPropagation)}
	require.Equal(t, remove, (&DeleteOptions{Raw: remove}).AsDeleteOptions())

	list := &metav1.ListOptions{LabelSelector: "raw", FieldSelector: "raw", Limit: 5, Continue: "raw", ResourceVersion: "7"}
	require.Equal(t, &metav1.ListOptions{LabelSelector: "raw", FieldSelector: "raw", ResourceVersion: "7"}, (&ListOptions{Raw: list}).AsListOptions(),
		"a limit in Raw is not sent, as in controller-runtime: programs would suddenly miss objects")
	require.Equal(t, &metav1.ListOptions{FieldSelector: "raw", ResourceVersion: "7", Limit: 1}, (&ListOptions{LabelSelector: labels.Everything(), Limit: 1, Raw: list}).AsListOptions())
}

// Several goroutines may use one struct of options.
func TestOptionsStayAsTheyAreWhenTheyAreSent(t *testing.T) {
	create, update, patch := &metav1.CreateOptions{}, &metav1.UpdateOptions{}, &metav1.PatchOptions{}
	remove, list := &metav1.DeleteOptions{}, &metav1.ListOptions{}
	(&CreateOptions{FieldManager: "me", Raw: create}).AsCreateOptions()
	(&UpdateOptions{FieldManager: "me", Raw: update}).AsUpdateOptions()
	(&PatchOptions{FieldManager: "me", Raw: patch}).AsPatchOptions()
	(&DeleteOptions{GracePeriodSeconds: new(int64), Raw: remove}).AsDeleteOptions()
	(&ListOptions{Limit: 5, Raw: list}).AsListOptions()
	require.Equal(t, []any{&metav1.CreateOptions{}, &metav1.UpdateOptions{}, &metav1.PatchOptions{}, &metav1.DeleteOptions{}, &metav1.ListOptions{}},
		[]any{create, update, patch, remove, list})

	bare := &CreateOptions{FieldManager: "me"}
	bare.AsCreateOptions()
	require.Nil(t, bare.Raw)
}

// A cache and a server have no limit then, so a helper that passes on -1 must not set one either.
func TestALimitBelowZeroIsNoLimit(t *testing.T) {
	limited := &ListOptions{Limit: 3}
	(&ListOptions{Limit: -1}).ApplyToList(limited)
	require.EqualValues(t, 3, limited.Limit)
}

func selectorOf(opts ...ListOption) string {
	return (&ListOptions{}).ApplyOptions(opts).LabelSelector.String()
}

func TestOptionsForLabelsAddUp(t *testing.T) {
	require.Equal(t, "a=b,c,d=e", selectorOf(MatchingLabels{"a": "b"}, HasLabels{"c"}, MatchingLabels{"d": "e"}))
	require.Equal(t, "a,b=c", selectorOf(HasLabels{"a"}, MatchingLabels{"b": "c"}))
}

func TestASelectorTakesThePlaceOfWhatWasSaidBefore(t *testing.T) {
	selector := MatchingLabelsSelector{labels.SelectorFromSet(labels.Set{"z": "z"})}
	require.Equal(t, "z=z", selectorOf(MatchingLabels{"a": "b"}, selector))
	require.Equal(t, "a=b,z=z", selectorOf(selector, MatchingLabels{"a": "b"}), "what comes after it is added")
	fields := (&ListOptions{}).ApplyOptions([]ListOption{MatchingFields{"a": "b"}, MatchingFields{"c": "d"}}).FieldSelector
	require.Equal(t, "c=d", fields.String())
}

func TestANamespaceAsASelector(t *testing.T) {
	require.Equal(t, "metadata.namespace=shop", InNamespace("shop").AsSelector().String())
}

// The text of a selector that matches nothing is empty, like that of one that matches everything.
// Sent to the server, it would list all objects, or delete them.
func TestASelectorThatMatchesNothingMatchesNothing(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"), widget("w"))
		for _, nothing := range []interface {
			ListOption
			DeleteAllOfOption
		}{MatchingLabelsSelector{}, MatchingFieldsSelector{}, HasLabels{"no label can have this name!"}} {
			require.True(w, (&ListOptions{}).ApplyOptions([]ListOption{nothing}).selectsNothing())
			for _, list := range []ObjectList{&corev1.ConfigMapList{}, listOf(widgetKind), metadataListOf(configMapKind)} {
				require.NoError(w, w.List(w.Context(), list))
				require.NotEmpty(w, list.GetResourceVersion())
				require.NoError(w, w.List(w.Context(), list, nothing))
				count := 0
				require.NoError(w, eachItem(list, func() { count++ }))
				require.Zero(w, count, "%T with %T", list, nothing)
				require.Empty(w, list.GetResourceVersion(), "the list is a new one")
			}
			require.NoError(w, w.DeleteAllOf(w.Context(), &corev1.ConfigMap{}, InNamespace("shop"), nothing))
			_, err := w.Watch(w.Context(), &corev1.ConfigMapList{}, nothing)
			require.Error(w, err, "nobody wants to wait for nothing")
		}
		require.NoError(w, w.Get(w.Context(), shopKey("a"), &corev1.ConfigMap{}), "nothing must have been deleted")
	})
}

func TestASelectorThatMatchesEverythingIsSentAsSuch(t *testing.T) {
	for _, everything := range []ListOption{MatchingLabels{}, MatchingFields{}, HasLabels{}, MatchingLabelsSelector{labels.Everything()}} {
		require.False(t, (&ListOptions{}).ApplyOptions([]ListOption{everything}).selectsNothing(), "%T", everything)
	}
	require.False(t, (&ListOptions{}).selectsNothing())
}
