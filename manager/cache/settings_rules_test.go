package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// setting shows what a setting is, and not where in memory.
func setting[T any](s *T) string {
	if s == nil {
		return "open"
	}
	return fmt.Sprint(*s)
}

// Function: Config.or
func TestAConfigKeepsWhatItHasAndTakesTheRest(t *testing.T) {
	full := func(name string, on bool, period time.Duration) Config {
		return Config{
			LabelSelector: label(name), FieldSelector: fields.OneTermEqualSelector("metadata.name", name), Transform: func(any) (any, error) { return name, nil },
			UnsafeDisableDeepCopy: &on, EnableWatchBookmarks: &on, SyncPeriod: &period,
		}
	}
	told := func(c Config) any { got, _ := c.Transform(nil); return got }
	text := func(selector fmt.Stringer) string {
		if selector == nil {
			return "open"
		}
		return selector.String()
	}
	first, second := full("first", false, 0), full("second", true, time.Hour)
	for _, c := range []struct {
		what string
		got  Config
		want Config
	}{
		{"what is set stays", first.or(second), first},
		{"what is open is taken", Config{}.or(second), second},
		{"there may be nothing to take", first.or(Config{}), first},
	} {
		require.Equal(t, text(c.want.LabelSelector), text(c.got.LabelSelector), "%s: the selector of labels", c.what)
		require.Equal(t, text(c.want.FieldSelector), text(c.got.FieldSelector), "%s: the selector of fields", c.what)
		require.NotNil(t, c.got.Transform, "%s: the transform", c.what)
		require.Equal(t, told(c.want), told(c.got), "%s: the transform", c.what)
		require.Equal(t, setting(c.want.UnsafeDisableDeepCopy), setting(c.got.UnsafeDisableDeepCopy), "%s: whether reads copy. False is a setting, too", c.what)
		require.Equal(t, setting(c.want.EnableWatchBookmarks), setting(c.got.EnableWatchBookmarks), "%s: whether there are bookmarks", c.what)
		require.Equal(t, setting(c.want.SyncPeriod), setting(c.got.SyncPeriod), "%s: the period", c.what)
	}
}

// Function: newScope
func TestWhatNobodyHasSetHasADefault(t *testing.T) {
	s := newScope("a", nil, Config{}, true)
	require.Equal(t, "a", s.namespace, "reads of this namespace do not find the scope")
	require.True(t, newScope(AllNamespaces, nil, Config{}, true).field == nil, "nobody has asked for a selector of fields")
	require.False(t, s.zeroCopy, "reads without a copy are dangerous, so somebody has to ask for them")
	require.True(t, s.bookmarks, "without bookmarks, an informer lists again after many a failure")
	require.Equal(t, 10*time.Hour, s.resyncs, "handlers are told everything again after this time")
}

// Function: newScope
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

// Scopes are shown as described does: namespace|watched|labels|fields.
//
// Function: newScope
func TestTheScopeOfANamespaceOrOfAllTheRestIsWhatItsConfigSays(t *testing.T) {
	byName, inA := fields.OneTermEqualSelector("metadata.name", "x"), fields.OneTermEqualSelector("metadata.namespace", "a")
	type namespaces = map[string]Config
	for _, c := range []struct {
		what      string
		namespace string
		others    namespaces
		field     fields.Selector
		want      string
	}{
		{"all the rest leaves out the namespaces that have a scope", AllNamespaces, namespaces{"b": {}, AllNamespaces: {}, "a": {}}, nil, "|||metadata.namespace!=a,metadata.namespace!=b"},
		{"all the rest leaves out a single one, too", AllNamespaces, namespaces{AllNamespaces: {}, "a": {}}, nil, "|||metadata.namespace!=a"},
		{"all the rest keeps its own selector", AllNamespaces, namespaces{AllNamespaces: {}, "a": {}}, byName, "|||metadata.namespace!=a,metadata.name=x"},
		{"a selector of everything adds nothing", AllNamespaces, namespaces{AllNamespaces: {}, "a": {}}, fields.Everything(), "|||metadata.namespace!=a"},
		{"all the rest alone is all", AllNamespaces, namespaces{AllNamespaces: {}}, nil, "|||"},
		{"a selector of one namespace needs the right to read that one", AllNamespaces, nil, inA, "|a||metadata.namespace=a"},
		{"a selector of one namespace among the rest, too", AllNamespaces, namespaces{AllNamespaces: {}, "b": {}}, inA, "|a||metadata.namespace!=b,metadata.namespace=a"},
		{"a namespace leaves out nothing", "a", namespaces{AllNamespaces: {}, "a": {}, "b": {}}, byName, "a|a||metadata.name=x"},
		{"the informer of a namespace watches that one, even if its selector wants another", "b", namespaces{"b": {}}, inA, "b|b||metadata.namespace=a"},
	} {
		s := newScope(c.namespace, c.others, Config{FieldSelector: c.field}, true)
		require.Equal(t, c.want, described([]scope{s})[0], c.what)
	}
	s := newScope(AllNamespaces, nil, Config{FieldSelector: inA}, false)
	require.Equal(t, "|||metadata.namespace=a", described([]scope{s})[0], "the URL of a kind without namespaces has none, or the request is a 404")
}

// Function: newScope
func TestTheScopeOfASelectorThatMatchesNothingHoldsNothing(t *testing.T) {
	byName, nothing := fields.OneTermEqualSelector("metadata.name", "x"), "a|a|"+neverThere.String()+"|"
	for _, c := range []struct {
		what   string
		config Config
	}{
		{"no labels match. As text, this selector is empty, and the server would send everything", Config{LabelSelector: labels.Nothing(), FieldSelector: byName}},
		{"no fields match. As text, this selector is empty, and the server would send everything", Config{LabelSelector: label("a"), FieldSelector: fields.Nothing()}},
	} {
		require.Equal(t, nothing, described([]scope{newScope("a", nil, c.config, true)})[0], c.what)
	}
}

// Scopes are shown as described does: namespace|watched|labels|fields.
//
// Function: settings.scopes
func TestTheScopesOfAKindAreWhatTheOptionsSay(t *testing.T) {
	byName := fields.OneTermEqualSelector("metadata.name", "x")
	type namespaces = map[string]Config
	ofPods := func(of ByObject) map[schema.GroupVersionKind]ByObject {
		return map[schema.GroupVersionKind]ByObject{pods: of}
	}
	defaults := Config{LabelSelector: label("default")}
	for _, c := range []struct {
		what string
		s    settings
		want []string
	}{
		{"nothing is set, so all is read", settings{}, []string{"|||"}},
		{"the defaults are for every kind", settings{defaults: defaults}, []string{"||from=default|"}},
		{"the kind comes before the defaults", settings{defaults: Config{LabelSelector: label("default"), FieldSelector: byName}, byKind: ofPods(ByObject{Label: label("kind")})}, []string{"||from=kind|metadata.name=x"}},
		{"a selector of everything is a setting", settings{defaults: defaults, byKind: ofPods(ByObject{Label: labels.Everything()})}, []string{"|||"}},
		{"each namespace has a scope, and they are sorted", settings{defaults: defaults, namespaces: namespaces{"b": {}, "c": {}, "a": {LabelSelector: label("a")}}}, []string{"a|a|from=a|", "b|b|from=default|", "c|c|from=default|"}},
		{"a namespace comes before the kind", settings{namespaces: namespaces{"a": {LabelSelector: label("a")}, "b": {}}, byKind: ofPods(ByObject{Label: label("kind")})}, []string{"a|a|from=a|", "b|b|from=kind|"}},
		{"the kind's own namespaces take the place of the default ones", settings{namespaces: namespaces{"a": {}, "b": {}}, byKind: ofPods(ByObject{Namespaces: namespaces{"c": {}}})}, []string{"c|c||"}},
		{"what a namespace of the kind leaves open is taken from the default namespaces", settings{defaults: defaults, namespaces: namespaces{"a": {LabelSelector: label("default a")}}, byKind: ofPods(ByObject{Namespaces: namespaces{"a": {}, "c": {}}})}, []string{"a|a|from=default a|", "c|c|from=default|"}},
		{"but the kind comes before the default namespaces", settings{namespaces: namespaces{"a": {LabelSelector: label("default a"), FieldSelector: byName}}, byKind: ofPods(ByObject{Label: label("kind"), Namespaces: namespaces{"a": {}}})}, []string{"a|a|from=kind|metadata.name=x"}},
		{"an empty map stands for all namespaces", settings{defaults: defaults, namespaces: namespaces{"a": {}}, byKind: ofPods(ByObject{Namespaces: namespaces{}})}, []string{"||from=default|"}},
		{"all the rest leaves out the namespaces that have a scope", settings{namespaces: namespaces{"b": {}, AllNamespaces: {}, "a": {}}}, []string{"|||metadata.namespace!=a,metadata.namespace!=b", "a|a||", "b|b||"}},
	} {
		scopes, err := c.s.scopes(pods, true)
		require.NoError(t, err, c.what)
		require.Equal(t, c.want, described(scopes), c.what)
	}
}

// Function: settings.scopes
func TestTheScopeOfAKindWithoutNamespacesIsOne(t *testing.T) {
	s := settings{
		namespaces: map[string]Config{"a": {LabelSelector: label("a")}, AllNamespaces: {FieldSelector: fields.OneTermEqualSelector("metadata.name", "x")}}, defaults: Config{FieldSelector: fields.OneTermEqualSelector("metadata.namespace", "a")},
		byKind: map[schema.GroupVersionKind]ByObject{nodes: {Label: label("kind")}},
	}
	scopes, err := s.scopes(nodes, false)
	require.NoError(t, err)
	require.Equal(t, []string{"||from=kind|metadata.namespace=a"}, described(scopes), "the default namespaces are not for it, its own settings are, and its URL has no namespace")

	s.byKind[nodes] = ByObject{Namespaces: map[string]Config{}}
	_, err = s.scopes(nodes, false)
	require.ErrorContains(t, err, "are in none", "a mistake in the options must be seen at the start, and not as a kind that is empty")
}
