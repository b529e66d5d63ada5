package manager

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	upstreamcache "sigs.k8s.io/controller-runtime/pkg/cache"
	upstreamclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// settings are the selectors of a namespace or a kind; an empty string leaves one open.
type settings struct{ label, field string }

// choice is what the options of both caches are made of. A nil map of namespaces is one that is not set.
type choice struct {
	defaults               settings
	namespaces             map[string]settings
	configMaps, namespaced *settings
	ofConfigMaps           map[string]settings
}

func (s settings) selectors() (l labels.Selector, f fields.Selector) {
	if s.label != "" {
		l = must1(labels.Parse(s.label))
	}
	if s.field != "" {
		f = must1(fields.ParseSelector(s.field))
	}
	return l, f
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}

func (c choice) ours() cache.Options {
	options := cache.Options{Mapper: settingsMapper(), ByObject: map[client.Object]cache.ByObject{}}
	options.DefaultLabelSelector, options.DefaultFieldSelector = c.defaults.selectors()
	config := func(all map[string]settings) map[string]cache.Config {
		if all == nil {
			return nil
		}
		made := map[string]cache.Config{}
		for namespace, s := range all {
			l, f := s.selectors()
			made[namespace] = cache.Config{LabelSelector: l, FieldSelector: f}
		}
		return made
	}
	options.DefaultNamespaces = config(c.namespaces)
	if c.configMaps != nil {
		l, f := c.configMaps.selectors()
		options.ByObject[&corev1.ConfigMap{}] = cache.ByObject{Label: l, Field: f, Namespaces: config(c.ofConfigMaps)}
	}
	if c.namespaced != nil {
		l, f := c.namespaced.selectors()
		options.ByObject[&corev1.Namespace{}] = cache.ByObject{Label: l, Field: f}
	}
	return options
}

func (c choice) theirs() upstreamcache.Options {
	options := upstreamcache.Options{Mapper: settingsMapper(), ByObject: map[upstreamclient.Object]upstreamcache.ByObject{}}
	options.DefaultLabelSelector, options.DefaultFieldSelector = c.defaults.selectors()
	config := func(all map[string]settings) map[string]upstreamcache.Config {
		if all == nil {
			return nil
		}
		made := map[string]upstreamcache.Config{}
		for namespace, s := range all {
			l, f := s.selectors()
			made[namespace] = upstreamcache.Config{LabelSelector: l, FieldSelector: f}
		}
		return made
	}
	options.DefaultNamespaces = config(c.namespaces)
	if c.configMaps != nil {
		l, f := c.configMaps.selectors()
		options.ByObject[&corev1.ConfigMap{}] = upstreamcache.ByObject{Label: l, Field: f, Namespaces: config(c.ofConfigMaps)}
	}
	if c.namespaced != nil {
		l, f := c.namespaced.selectors()
		options.ByObject[&corev1.Namespace{}] = upstreamcache.ByObject{Label: l, Field: f}
	}
	return options
}

func settingsMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, suffix := range []string{"", "List"} { // controller-runtime asks for the lists as well
		mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"+suffix), meta.RESTScopeNamespace)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"+suffix), meta.RESTScopeRoot)
	}
	return mapper
}

var someNamespaces = []string{"default", "shop", "bank"}

func choose(random *rand.Rand) choice {
	pick := func() settings {
		return settings{
			[]string{"", "", "color=red", "color in (red,blue)", "color"}[random.IntN(5)],
			[]string{"", "", "metadata.name=a", "metadata.name!=a", "metadata.namespace=shop"}[random.IntN(5)],
		}
	}
	several := func() map[string]settings {
		if random.IntN(3) == 0 {
			return nil
		}
		chosen := map[string]settings{}
		for _, namespace := range append([]string{cache.AllNamespaces}, someNamespaces...) {
			if random.IntN(3) == 0 {
				chosen[namespace] = pick()
			}
		}
		return chosen
	}
	c := choice{namespaces: several()}
	if random.IntN(2) == 0 {
		c.defaults = pick()
		if c.defaults.field == "metadata.namespace=shop" {
			c.defaults.field = "" // the server refuses it for namespaces
		}
	}
	if random.IntN(2) == 0 {
		kind := pick()
		c.configMaps, c.ofConfigMaps = &kind, several()
	}
	if random.IntN(4) == 0 {
		kind := pick()
		kind.field = ""
		c.namespaced = &kind
	}
	return c
}

// reader is what both caches are for this test: answers as text.
type reader struct {
	stop func() error
	list func(namespace string) string
	get  func(namespace, name string) string
	root func() string
}

// A program that moves here must watch the same collections, with the same selectors, and read the same.
func TestTheSameOptionsAskForTheSameAndAnswerTheSame(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		c := choose(rand.New(rand.NewPCG(seed, 12)))
		server := fakeapi.New(fakeapi.Options{})
		live, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		for _, namespace := range someNamespaces {
			if namespace != "default" {
				_, err := live.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"color": "red"}}}, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			for i, color := range []string{"red", "blue", "green", ""} {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i)), Labels: map[string]string{"color": color}}}
				_, err := live.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{})
				require.NoError(t, err)
			}
		}
		config := func(name string) *rest.Config {
			config := server.Config()
			config.UserAgent = name
			return config
		}
		ours, theirs := ourReader(t, config("ours"), c.ours()), theirReader(t, config("theirs"), c.theirs())
		for _, namespace := range append([]string{""}, someNamespaces...) {
			require.Equal(t, theirs.list(namespace), ours.list(namespace), "seed %d: %+v, namespace %q", seed, c, namespace)
			require.Equal(t, theirs.get(namespace, "a"), ours.get(namespace, "a"), "seed %d: %+v", seed, c)
			require.Equal(t, theirs.get(namespace, "missing"), ours.get(namespace, "missing"), "seed %d: %+v", seed, c)
		}
		require.Equal(t, theirs.root(), ours.root(), "seed %d: %+v", seed, c)
		require.Equal(t, collections(server, "theirs"), collections(server, "ours"), "seed %d: %+v", seed, c)
		require.NoError(t, ours.stop())
		require.NoError(t, theirs.stop())
		server.Close()
	}
}

// collections are what somebody has watched, each once.
func collections(server *fakeapi.Server, userAgent string) []string {
	seen := map[string]bool{}
	for _, r := range server.Requests(fakeapi.Match{Verb: "watch", UserAgent: userAgent}) {
		seen[fmt.Sprintf("%s in %q label %q field %q", r.Resource, r.Namespace, r.Query.Get("labelSelector"), r.Query.Get("fieldSelector"))] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func ourReader(t *testing.T, config *rest.Config, options cache.Options) reader {
	c, err := cache.New(config, options)
	require.NoError(t, err)
	stop := run(c.Start)
	require.True(t, c.WaitForCacheSync(t.Context())) // it runs
	return reader{
		stop: stop,
		list: func(namespace string) string {
			var list corev1.ConfigMapList
			return answer(c.List(t.Context(), &list, client.InNamespace(namespace)), list.Items)
		},
		get: func(namespace, name string) string {
			var object corev1.ConfigMap
			return answer(c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &object), []corev1.ConfigMap{object})
		},
		root: func() string {
			var list corev1.NamespaceList
			err := c.List(t.Context(), &list)
			return fmt.Sprint(err == nil, len(list.Items))
		},
	}
}

func theirReader(t *testing.T, config *rest.Config, options upstreamcache.Options) reader {
	c, err := upstreamcache.New(config, options)
	require.NoError(t, err)
	stop := run(c.Start)
	require.True(t, c.WaitForCacheSync(t.Context())) // it runs
	return reader{
		stop: stop,
		list: func(namespace string) string {
			var list corev1.ConfigMapList
			return answer(c.List(t.Context(), &list, upstreamclient.InNamespace(namespace)), list.Items)
		},
		get: func(namespace, name string) string {
			var object corev1.ConfigMap
			return answer(c.Get(t.Context(), upstreamclient.ObjectKey{Namespace: namespace, Name: name}, &object), []corev1.ConfigMap{object})
		},
		root: func() string {
			var list corev1.NamespaceList
			err := c.List(t.Context(), &list)
			return fmt.Sprint(err == nil, len(list.Items))
		},
	}
}

// answer is whether it is an error, and of which type; or the objects.
func answer(err error, items []corev1.ConfigMap) string {
	if err != nil {
		return fmt.Sprintf("error, not found: %v", apierrors.IsNotFound(err))
	}
	names := []string{}
	for _, item := range items {
		names = append(names, item.Namespace+"/"+item.Name+" "+item.Labels["color"])
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}
