package cache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
)

var (
	pods  = corev1.SchemeGroupVersion.WithKind("Pod")
	nodes = corev1.SchemeGroupVersion.WithKind("Node")
)

func podsAndNodes() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(pods, meta.RESTScopeNamespace)
	mapper.Add(nodes, meta.RESTScopeRoot)
	return mapper
}

func label(from string) labels.Selector { return labels.SelectorFromSet(labels.Set{"from": from}) }

// described is what matters of scopes: the namespace, where it is read from, and the selectors.
func described(scopes []scope) (lines []string) {
	for _, s := range scopes {
		lines = append(lines, s.namespace+"|"+s.watched+"|"+s.labelText()+"|"+s.fieldText())
	}
	return lines
}

// A program whose settings have another precedence here would watch what it may not read, or miss what it needs.
func TestASettingOfANamespaceComesFirstThenThatOfTheKindThenTheDefaults(t *testing.T) {
	pod, node := &corev1.Pod{}, &corev1.Node{}
	byName := fields.OneTermEqualSelector("metadata.name", "x")
	inA := fields.OneTermEqualSelector("metadata.namespace", "a")
	for _, c := range []struct {
		what  string
		opts  Options
		kind  schema.GroupVersionKind
		wants []string
	}{
		{"nothing is set", Options{}, pods, []string{"|||"}},
		{"the defaults", Options{DefaultLabelSelector: label("default"), DefaultFieldSelector: byName}, pods, []string{"||from=default|metadata.name=x"}},
		{"the kind over the defaults", Options{
			DefaultLabelSelector: label("default"), DefaultFieldSelector: byName,
			ByObject: map[client.Object]ByObject{pod: {Label: label("kind")}},
		}, pods, []string{"||from=kind|metadata.name=x"}},
		{"everything is a setting", Options{
			DefaultLabelSelector: label("default"), DefaultFieldSelector: byName,
			ByObject: map[client.Object]ByObject{pod: {Label: labels.Everything(), Field: fields.Everything()}},
		}, pods, []string{"|||"}},
		{"default namespaces, sorted", Options{
			DefaultLabelSelector: label("default"),
			DefaultNamespaces:    map[string]Config{"b": {}, "a": {LabelSelector: label("a")}},
		}, pods, []string{"a|a|from=a|", "b|b|from=default|"}},
		{"default namespaces over the kind", Options{
			DefaultNamespaces: map[string]Config{"a": {LabelSelector: label("a")}, "b": {}},
			ByObject:          map[client.Object]ByObject{pod: {Label: label("kind")}},
		}, pods, []string{"a|a|from=a|", "b|b|from=kind|"}},
		{"the kind's namespaces over the default ones", Options{
			DefaultLabelSelector: label("default"),
			DefaultNamespaces: map[string]Config{
				"a": {LabelSelector: label("default a")}, "b": {},
			},
			ByObject: map[client.Object]ByObject{
				pod: {Namespaces: map[string]Config{"a": {}, "c": {}}},
			},
		}, pods, []string{"a|a|from=default a|", "c|c|from=default|"}},
		{"in the kind's namespaces, the kind over the default namespaces", Options{
			DefaultNamespaces:    map[string]Config{"a": {LabelSelector: label("default a"), FieldSelector: byName}},
			DefaultLabelSelector: label("default"),
			ByObject:             map[client.Object]ByObject{pod: {Label: label("kind"), Namespaces: map[string]Config{"a": {}, "b": {LabelSelector: label("b")}}}},
		}, pods, []string{"a|a|from=kind|metadata.name=x", "b|b|from=b|"}},
		{"an empty map is all namespaces", Options{
			DefaultNamespaces:    map[string]Config{"a": {}},
			DefaultLabelSelector: label("default"),
			ByObject:             map[client.Object]ByObject{pod: {Namespaces: map[string]Config{}}},
		}, pods, []string{"||from=default|"}},
		{"all the other namespaces", Options{
			DefaultNamespaces: map[string]Config{"b": {}, AllNamespaces: {FieldSelector: byName}, "a": {}},
		}, pods, []string{"|||metadata.namespace!=a,metadata.namespace!=b,metadata.name=x", "a|a||", "b|b||"}},
		{"all namespaces alone are all", Options{DefaultNamespaces: map[string]Config{AllNamespaces: {}}}, pods, []string{"|||"}},
		{"all the other namespaces, with a selector of everything", Options{
			DefaultNamespaces: map[string]Config{
				AllNamespaces: {FieldSelector: fields.Everything()}, "a": {},
			},
		}, pods, []string{"|||metadata.namespace!=a", "a|a||"}},
		{"a field selector of one namespace", Options{DefaultFieldSelector: inA}, pods,
			[]string{"|a||metadata.namespace=a"}},
		{"a field selector of one of the other namespaces", Options{
			DefaultNamespaces: map[string]Config{AllNamespaces: {FieldSelector: inA}, "b": {}},
		}, pods, []string{"|a||metadata.namespace!=b,metadata.namespace=a", "b|b||"}},
		{"a namespace with a field selector of another one", Options{
			DefaultNamespaces: map[string]Config{"b": {FieldSelector: inA}},
		}, pods, []string{"b|b||metadata.namespace=a"}},
		{"a kind without namespaces has none in its URL", Options{DefaultFieldSelector: inA}, nodes,
			[]string{"|||metadata.namespace=a"}},
		{"a kind without namespaces has the defaults", Options{
			DefaultNamespaces:    map[string]Config{"a": {LabelSelector: label("a")}},
			DefaultLabelSelector: label("default"),
		}, nodes, []string{"||from=default|"}},
		{"a kind without namespaces has its own settings", Options{
			DefaultNamespaces: map[string]Config{"a": {LabelSelector: label("a")}},
			ByObject:          map[client.Object]ByObject{node: {Label: label("kind")}},
		}, nodes, []string{"||from=kind|"}},
		{"another kind has the defaults", Options{
			DefaultLabelSelector: label("default"),
			ByObject:             map[client.Object]ByObject{node: {Label: label("kind")}},
		}, pods, []string{"||from=default|"}},
	} {
		c.opts.Scheme, c.opts.Mapper = scheme.Scheme, podsAndNodes()
		s, err := newSettings(c.opts)
		require.NoError(t, err, c.what)
		scopes, err := s.scopes(c.kind, c.kind == pods)
		require.NoError(t, err, c.what)
		require.Equal(t, c.wants, described(scopes), c.what)
	}
}

func TestEachSettingHasItsOwnPrecedence(t *testing.T) {
	transform := func(any) (any, error) { return "the kind's", nil }
	s, err := newSettings(Options{
		Scheme: scheme.Scheme, Mapper: podsAndNodes(),
		SyncPeriod: new(time.Hour), DefaultUnsafeDisableDeepCopy: new(true), DefaultEnableWatchBookmarks: new(false),
		DefaultTransform: func(any) (any, error) { return "the default", nil },
		DefaultNamespaces: map[string]Config{
			"a": {UnsafeDisableDeepCopy: new(false)}, "b": {SyncPeriod: new(time.Minute)},
			// false and 0 are settings, too
			"c": {EnableWatchBookmarks: new(false), SyncPeriod: new(time.Duration(0)),
				Transform: func(any) (any, error) { return "the namespace's", nil }},
		},
		ByObject: map[client.Object]ByObject{&corev1.Pod{}: {
			Transform: transform, EnableWatchBookmarks: new(true), SyncPeriod: new(time.Second),
		}},
	})
	require.NoError(t, err)
	scopes, err := s.scopes(pods, true)
	require.NoError(t, err)
	require.Len(t, scopes, 3)
	a, b, c := scopes[0], scopes[1], scopes[2]
	require.Equal(t, []any{false, true, time.Second}, []any{a.zeroCopy, a.bookmarks, a.resyncs})
	require.Equal(t, []any{true, true, time.Minute}, []any{b.zeroCopy, b.bookmarks, b.resyncs})
	require.Equal(t, []any{true, false}, []any{c.zeroCopy, c.bookmarks})
	require.Zero(t, c.resyncs)
	told, _ := a.transform(nil)
	require.Equal(t, "the kind's", told)
	told, _ = c.transform(nil)
	require.Equal(t, "the namespace's", told)

	scopes, err = s.scopes(nodes, false)
	require.NoError(t, err)
	require.Equal(t, []any{true, false, time.Hour}, []any{scopes[0].zeroCopy, scopes[0].bookmarks, scopes[0].resyncs})
	told, _ = scopes[0].transform(nil)
	require.Equal(t, "the default", told)

	s, err = newSettings(Options{Scheme: scheme.Scheme, Mapper: podsAndNodes()})
	require.NoError(t, err)
	scopes, err = s.scopes(pods, true)
	require.NoError(t, err)
	require.Equal(t, []any{false, true, 10 * time.Hour}, []any{scopes[0].zeroCopy, scopes[0].bookmarks, scopes[0].resyncs})
}

// A mistake in the options must be seen at the start, and not as a kind that is empty.
func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []struct {
		byObject map[client.Object]ByObject
		want     string
	}{
		{map[client.Object]ByObject{&corev1.Node{}: {Namespaces: map[string]Config{}}}, "are in none"},
		{map[client.Object]ByObject{&corev1.Pod{}: {}, unstructuredPod(): {}}, "is in it twice"},
		{map[client.Object]ByObject{&unstructured.Unstructured{}: {}}, "reading ByObject: the kind of a *unstructured.Unstructured"},
	} {
		_, err := newSettings(Options{Scheme: scheme.Scheme, Mapper: podsAndNodes(), ByObject: c.byObject})
		require.ErrorContains(t, err, c.want)
	}
	s, err := newSettings(Options{Scheme: scheme.Scheme, Mapper: meta.NewDefaultRESTMapper(nil), ByObject: map[client.Object]ByObject{&corev1.Node{}: {Namespaces: map[string]Config{}}}})
	require.NoError(t, err, "a kind that is not installed yet is not an error")
	_, err = s.scopes(nodes, false)
	require.ErrorContains(t, err, "are in none", "but it is one when the kind is there")
}

func unstructuredPod() *unstructured.Unstructured {
	pod := &unstructured.Unstructured{}
	pod.SetGroupVersionKind(pods)
	return pod
}

func TestWhatNobodyHasSetHasADefault(t *testing.T) {
	s := newScope("a", nil, Config{}, true)
	require.Equal(t, "a", s.namespace, "reads of this namespace do not find the scope")
	require.True(t, newScope(AllNamespaces, nil, Config{}, true).field == nil, "nobody has asked for a selector of fields")
	require.False(t, s.zeroCopy, "reads without a copy are dangerous, so somebody has to ask for them")
	require.True(t, s.bookmarks, "without bookmarks, an informer lists again after many a failure")
	require.Equal(t, 10*time.Hour, s.resyncs, "handlers are told everything again after this time")
}

func TestWhatSomebodyHasSetIsTaken(t *testing.T) {
	s := newScope("a", nil, Config{
		LabelSelector: label("a"), FieldSelector: fields.OneTermEqualSelector("metadata.name", "x"), Transform: func(any) (any, error) { return "transformed", nil },
		UnsafeDisableDeepCopy: new(true), EnableWatchBookmarks: new(false), SyncPeriod: new(time.Duration(0)),
	}, true)
	require.Equal(t, []string{"a|a|from=a|metadata.name=x"}, described([]scope{s}), "the namespace is read, and of that what the selectors pick")
	require.NotNil(t, s.transform, "a transform makes objects smaller; without it they need the memory that nobody has")
	require.True(t, s.zeroCopy, "somebody has asked for reads without a copy")
	require.False(t, s.bookmarks, "this server cannot send bookmarks")
	require.Zero(t, s.resyncs, "zero is a setting, too: no resyncs")
}

// A mistake in the options must be seen when the cache is made.
func TestACacheWithSettingsThatCannotBeIsNotMade(t *testing.T) {
	_, err := New(&rest.Config{Host: "http://server.example"}, Options{Scheme: scheme.Scheme, Mapper: podsAndNodes(),
		ByObject: map[client.Object]ByObject{&corev1.Node{}: {Namespaces: map[string]Config{"shop": {}}}}})
	require.ErrorContains(t, err, "Node")
}
