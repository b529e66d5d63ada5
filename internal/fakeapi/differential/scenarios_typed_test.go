package differential

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// typed writes down an object that a typed client returned.
func (c *client) typed(what string, obj any, err error) {
	if err != nil {
		c.note("%s: %s %v", what, apierrors.ReasonForError(err), err)
		return
	}
	raw, marshalErr := json.Marshal(obj)
	require.NoError(c.t, marshalErr)
	var content map[string]any
	require.NoError(c.t, json.Unmarshal(raw, &content))
	delete(content, "kind")
	delete(content, "apiVersion")
	if items, ok := content["items"].([]any); ok {
		var parts []string
		for _, item := range items {
			parts = append(parts, c.norm.object(item.(map[string]any), false))
		}
		c.note("%s: %s", what, strings.Join(parts, "\n    "))
		return
	}
	c.note("%s: %s", what, c.norm.object(content, false))
}

// protobuf is the client's configuration with protobuf preferred.
func (c *client) protobuf() *rest.Config {
	cfg := rest.CopyConfig(c.cfg)
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return cfg
}

var typedScenarios = []scenario{
	{name: "protobuf", play: func(c *client) {
		clients, err := kubernetes.NewForConfig(c.protobuf())
		require.NoError(c.t, err)
		maps := clients.CoreV1().ConfigMaps(c.ns)
		made, err := maps.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"t": "x"}}, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{})
		c.typed("create", made, err)
		w, err := maps.Watch(c.ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion, LabelSelector: "t"})
		require.NoError(c.t, err)
		defer w.Stop()
		changed := made.DeepCopy()
		changed.Data["k"] = "w"
		changed, err = maps.Update(c.ctx, changed, metav1.UpdateOptions{})
		c.typed("update", changed, err)
		e := <-w.ResultChan()
		c.typed(string(e.Type), e.Object, nil)
		_, err = maps.Update(c.ctx, made, metav1.UpdateOptions{})
		c.typed("stale update", nil, err)
		list, err := maps.List(c.ctx, metav1.ListOptions{LabelSelector: "t"})
		c.typed("list", list, err)
		patched, err := maps.Patch(c.ctx, "a", types.StrategicMergePatchType, []byte(`{"data":{"l":"x"}}`), metav1.PatchOptions{})
		c.typed("patch", patched, err)
		e = <-w.ResultChan()
		c.typed(string(e.Type), e.Object, nil)
		c.typed("delete", map[string]any{}, maps.Delete(c.ctx, "a", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
		e = <-w.ResultChan()
		c.typed(string(e.Type), e.Object, nil)
		_, err = maps.Get(c.ctx, "a", metav1.GetOptions{})
		c.typed("get", nil, err)
	}},
	{name: "a WatchList in protobuf", play: func(c *client) {
		clients, err := kubernetes.NewForConfig(c.protobuf())
		require.NoError(c.t, err)
		yes := true
		w, err := clients.CoreV1().Pods(c.ns).Watch(c.ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		require.NoError(c.t, err)
		defer w.Stop()
		e := <-w.ResultChan()
		c.note("%s %T %v", e.Type, e.Object, e.Object.(*corev1.Pod).Annotations)
		future, err := clients.CoreV1().Pods(c.ns).Watch(c.ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, ResourceVersion: "99999"})
		require.NoError(c.t, err)
		defer future.Stop()
		e = <-future.ResultChan()
		c.note("%s %T %v", e.Type, e.Object, apierrors.FromObject(e.Object))
	}},
	{name: "the metadata client", play: func(c *client) {
		clients, err := metadata.NewForConfig(c.cfg)
		require.NoError(c.t, err)
		c.post(configMaps, `{"metadata":{"name":"a","labels":{"t":"x"}},"data":{"k":"v"}}`)
		maps := clients.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(c.ns)
		got, err := maps.Get(c.ctx, "a", metav1.GetOptions{})
		c.typed("get", got, err)
		list, err := maps.List(c.ctx, metav1.ListOptions{LabelSelector: "t"})
		c.typed("list", list, err)
		w, err := maps.Watch(c.ctx, metav1.ListOptions{LabelSelector: "t", ResourceVersion: got.ResourceVersion})
		require.NoError(c.t, err)
		defer w.Stop()
		patched, err := maps.Patch(c.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"u":"y"}}}`), metav1.PatchOptions{})
		c.typed("patch", patched, err)
		e := <-w.ResultChan()
		c.typed(string(e.Type), e.Object, nil)
	}},
	{name: "the dynamic client", play: func(c *client) {
		clients, err := dynamic.NewForConfig(c.cfg)
		require.NoError(c.t, err)
		c.post(widgets, widget)
		c.post(pods, pod)
		w := clients.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace(c.ns)
		got, err := w.Get(c.ctx, "w", metav1.GetOptions{})
		c.typed("get", got, err)
		list, err := clients.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(c.ns).List(c.ctx, metav1.ListOptions{})
		c.typed("list", list, err)
	}},
	{name: "a RESTMapper", play: func(c *client) {
		dc, err := discovery.NewDiscoveryClientForConfig(c.cfg)
		require.NoError(c.t, err)
		groups, err := restmapper.GetAPIGroupResources(dc)
		require.NoError(c.t, err)
		mapper := restmapper.NewDiscoveryRESTMapper(groups)
		var lines []string
		for _, gk := range []schema.GroupKind{{Kind: "Pod"}, {Kind: "Namespace"}, {Group: "apps", Kind: "Deployment"}, {Group: "example.com", Kind: "Widget"}, {Group: "example.com", Kind: "Gadget"}, {Kind: "Nothing"}} {
			mapping, err := mapper.RESTMapping(gk)
			if err != nil {
				lines = append(lines, fmt.Sprintf("%v: no match", gk))
				continue
			}
			lines = append(lines, fmt.Sprintf("%v: %v %v", gk, mapping.Resource, mapping.Scope.Name()))
		}
		for _, short := range []string{"po", "deploy", "wd", "cm"} {
			resource, err := restmapper.NewShortcutExpander(mapper, dc, nil).ResourceFor(schema.GroupVersionResource{Resource: short})
			lines = append(lines, fmt.Sprintf("%s: %v %v", short, resource, err))
		}
		sort.Strings(lines)
		c.note("%s", strings.Join(lines, "\n"))
	}},
}
