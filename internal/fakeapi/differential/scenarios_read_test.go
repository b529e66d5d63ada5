package differential

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// three creates ConfigMaps a, b and c with labels, and returns the last.
func three(c *client) (last response) {
	for i, name := range []string{"b", "a", "c"} {
		last = c.silently(http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"t":"x","n":"%d"}}}`, name, i))
	}
	return last
}

// threeLeases is three for a kind that no controller adds to.
func threeLeases(c *client) {
	for _, name := range []string{"b", "a", "c"} {
		c.silently(http.MethodPost, leases, `{"metadata":{"name":"`+name+`"}}`)
	}
}

// names lists the names in an answer.
func names(r response) string {
	var out []string
	items, _ := r.body["items"].([]any)
	for _, item := range items {
		out = append(out, child(item.(map[string]any), "metadata")["name"].(string))
	}
	return strings.Join(out, " ")
}

// lists writes down the names that a list yields, or its refusal.
func (c *client) lists(path string) response {
	r := c.silently(http.MethodGet, path, "")
	if r.code != http.StatusOK {
		c.note("list %s -> %d %s", path, r.code, c.norm.body(r))
		return r
	}
	m := child(r.body, "metadata")
	c.note("list %s -> %s continue=%v remaining=%v", path, names(r), m["continue"] != nil, m["remainingItemCount"])
	return r
}

var listScenarios = []scenario{
	{name: "lists are in the order of names", play: func(c *client) {
		three(c)
		c.get(configMaps + "?labelSelector=t")
		c.get(configMaps + "?labelSelector=nothing")
		c.get(widgets)
	}},
	{name: "label selectors", play: func(c *client) {
		three(c)
		for _, selector := range []string{"t=x", "n=1", "n!=1,t", "n in (0,2)", "n notin (0,2),t", "!t,n", "t,!other", "n>0", "n<1"} {
			c.lists(configMaps + "?labelSelector=" + url.QueryEscape(selector))
		}
		c.get(configMaps + "?labelSelector=" + url.QueryEscape("!!"))
		c.get(configMaps + "?labelSelector=" + url.QueryEscape("a b"))
	}},
	{name: "field selectors", play: func(c *client) {
		three(c)
		c.lists(configMaps + "?fieldSelector=metadata.name%3Da")
		c.lists(configMaps + "?labelSelector=t&fieldSelector=metadata.name!%3Da")
		c.lists(configMaps + "?labelSelector=t&fieldSelector=metadata.namespace%3D{ns}")
		c.lists("/api/v1/configmaps?labelSelector=t&fieldSelector=metadata.namespace%3D{ns}")
		c.lists(configMaps + "?fieldSelector=metadata.name%3Da,metadata.name%3Db")
		c.get(configMaps + "?fieldSelector=data.k%3D1")
		c.get(pods + "?fieldSelector=data.k%3D1")
		c.get(jobs + "?fieldSelector=data.k%3D1")
		c.get(replicaSets + "?fieldSelector=status.replicas%3D1")
		c.get(configMaps + "?fieldSelector=" + url.QueryEscape("!!"))
	}},
	{name: "field selectors of pods and others", play: func(c *client) {
		c.silently(http.MethodPost, pods, pod)
		c.silently(http.MethodPost, secrets, `{"metadata":{"name":"s","labels":{"t":"x"}},"type":"example.com/t"}`)
		for _, selector := range []string{"status.phase=Pending", "status.phase!=Pending", "spec.nodeName=", "spec.nodeName=n", "spec.schedulerName=nobody",
			"spec.restartPolicy=Always,status.phase=Pending", "spec.hostNetwork=false"} {
			c.lists(pods + "?fieldSelector=" + url.QueryEscape(selector))
		}
		c.lists(secrets + "?labelSelector=t&fieldSelector=type%3Dexample.com/t")
		c.lists("/api/v1/namespaces?fieldSelector=status.phase%3DActive,metadata.name%3D{ns}")
		c.silently(http.MethodPost, widgets, widget)
		c.lists(widgets + "?fieldSelector=spec.color%3Dred")
		c.lists(widgets + "?fieldSelector=spec.color%3Dblue")
		c.get(widgets + "?fieldSelector=spec.other%3Dblue")
		c.get(gadgets + "?fieldSelector=spec.other%3Dblue")
	}},
	{name: "pages show one moment", play: func(c *client) {
		threeLeases(c)
		page := leases + "?limit=2"
		r := c.lists(page)
		token := r.str("metadata", "continue")
		c.silently(http.MethodDelete, leases+"/c", "")
		c.silently(http.MethodPost, leases, `{"metadata":{"name":"d"}}`)
		next := c.lists(page + "&continue=" + token)
		c.note("the same version: %v", r.rv() == next.rv())
		c.lists(page)
		x := c.silently(http.MethodGet, page+"&continue="+token+"&resourceVersion=5", "")
		c.note("%d %s", x.code, x.str("reason"))
	}},
	{name: "how much is left", play: func(c *client) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.silently(http.MethodPost, leases, `{"metadata":{"name":"`+name+`","labels":{"t":"x"}}}`)
		}
		r := c.lists(leases + "?limit=2")
		r = c.lists(leases + "?limit=2&continue=" + r.str("metadata", "continue"))
		c.lists(leases + "?limit=2&continue=" + r.str("metadata", "continue"))
		c.lists(leases + "?limit=2&labelSelector=t")
		c.lists(leases + "?limit=5")
		c.lists(leases + "?limit=0")
		c.lists(leases + "?limit=2&resourceVersion=0")
		c.lists(leases + "?limit=2&resourceVersion=" + r.rv())
	}},
	{name: "tokens that are not", play: func(c *client) {
		r := c.silently(http.MethodGet, configMaps+"?continue=x", "")
		c.note("%d %s", r.code, r.str("reason"))
		r = c.silently(http.MethodGet, configMaps+"?continue=e30", "")
		c.note("%d %s", r.code, r.str("reason"))
		c.lists(configMaps + "?limit=x")
		c.lists(leases + "?limit=-1")
	}},
	{name: "a token too old", play: func(c *client) {
		threeLeases(c)
		page := leases + "?limit=2"
		r := c.lists(page)
		token := r.str("metadata", "continue")
		c.silently(http.MethodPost, leases, `{"metadata":{"name":"d"}}`)
		c.compact()
		expired := c.silently(http.MethodGet, page+"&continue="+token, "")
		c.note("%d %s, with a token: %v", expired.code, expired.str("reason"), expired.str("metadata", "continue") != "")
		rest := c.lists(page + "&continue=" + expired.str("metadata", "continue"))
		c.note("at a new version: %v", rest.rv() != r.rv())
	}},
	{name: "exact versions", play: func(c *client) {
		r := three(c)
		c.silently(http.MethodDelete, configMaps+"/a", "")
		c.silently(http.MethodPatch, configMaps+"/b", `{"metadata":{"labels":{"t":"y"}}}`, "Content-Type", patchMerge)
		at := configMaps + "?labelSelector=t%3Dx&resourceVersion=" + r.rv()
		old := c.lists(at + "&resourceVersionMatch=Exact")
		c.note("at that version: %v", old.rv() == r.rv())
		c.lists(at + "&resourceVersionMatch=NotOlderThan")
		c.lists(at)
		c.lists(at + "&limit=10")
		c.lists(configMaps + "?labelSelector=t&resourceVersion=0")
	}},
	{name: "an exact version too old", play: func(c *client) {
		r := three(c)
		c.silently(http.MethodDelete, configMaps+"/a", "")
		path := configMaps + "?labelSelector=t&resourceVersionMatch=Exact&resourceVersion=" + r.rv()
		c.compact()
		x := c.silently(http.MethodGet, path, "")
		c.note("%d %s", x.code, x.str("reason"))
	}},
	{name: "versions of the future", play: func(c *client) {
		c.get(configMaps + "?resourceVersion=99999")
		c.get(configMaps + "?resourceVersion=99999&resourceVersionMatch=Exact")
		c.get(configMaps + "/a?resourceVersion=99999")
	}},
	{name: "version options that do not fit", play: func(c *client) {
		for _, query := range []string{"resourceVersion=x", "resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=Exact",
			"resourceVersion=1&resourceVersionMatch=Nonsense", "sendInitialEvents=true", "resourceVersionMatch=NotOlderThan"} {
			c.get(configMaps + "?" + query)
		}
		c.get(configMaps + "/a?resourceVersion=x")
	}},
}

var watchScenarios = []scenario{
	{name: "watch from a version", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.post(configMaps, `{"metadata":{"name":"b"}}`)
		w := c.watch(configMaps + "?watch=1&resourceVersion=" + r.rv())
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		c.delete(configMaps+"/a", "")
		w.events(3)
	}},
	{name: "watch without a version begins with what there is", play: func(c *client) {
		three(c)
		w := c.watch(configMaps + "?watch=1&labelSelector=t")
		w.events(3)
		c.delete(configMaps+"/a", "")
		w.next()
	}},
	{name: "watch from version 0", play: func(c *client) {
		three(c)
		time.Sleep(settle)
		w := c.watch(configMaps + "?watch=true&labelSelector=t&resourceVersion=0")
		w.events(3)
		c.post(configMaps, `{"metadata":{"name":"d","labels":{"t":"x"}}}`)
		w.next()
	}},
	{name: "objects that start and stop to match labels", play: func(c *client) {
		r := three(c)
		w := c.watch(configMaps + "?watch=1&labelSelector=n%3D1&resourceVersion=" + r.rv())
		c.patch(patchMerge, configMaps+"/b", `{"metadata":{"labels":{"n":"1"}}}`)
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"labels":{"n":"7"}},"data":{"new":"content"}}`)
		c.patch(patchMerge, configMaps+"/c", `{"data":{"un":"seen"}}`)
		c.delete(configMaps+"/a", "")
		c.delete(configMaps+"/b", "")
		w.events(3)
	}},
	{name: "objects that start and stop to match fields", play: func(c *client) {
		r := c.post(pods, pod)
		w := c.watch(pods + "?watch=1&fieldSelector=status.phase%3DRunning&resourceVersion=" + r.rv())
		c.patch(patchMerge, pods+"/p/status", `{"status":{"phase":"Running"}}`)
		c.patch(patchMerge, pods+"/p/status", `{"status":{"phase":"Running","reason":"x"}}`)
		c.patch(patchMerge, pods+"/p/status", `{"status":{"phase":"Failed"}}`)
		w.events(3)
		one := c.watch(pods + "?watch=1&fieldSelector=metadata.name%3Dq&resourceVersion=" + r.rv())
		c.post(pods, strings.Replace(pod, `"p"`, `"q"`, 1))
		one.next()
	}},
	{name: "watch custom resources by a field of their own", play: func(c *client) {
		r := c.post(widgets, widget)
		w := c.watch(widgets + "?watch=1&fieldSelector=spec.color%3Dblue&resourceVersion=" + r.rv())
		c.patch(patchMerge, widgets+"/w", `{"spec":{"color":"blue"}}`)
		c.patch(patchMerge, widgets+"/w", `{"spec":{"color":"green"}}`)
		w.events(2)
	}},
	{name: "WatchList", play: func(c *client) {
		three(c)
		w := c.watch(configMaps + "?watch=1&labelSelector=t&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
		w.events(4)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		w.next()
		zero := c.watch(configMaps + "?watch=1&labelSelector=t&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0")
		zero.events(3)
		zero.quiet(settle)
		none := c.watch(configMaps + "?watch=1&labelSelector=nothing&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
		none.next()
	}},
	{name: "WatchList from a version", play: func(c *client) {
		r := three(c)
		w := c.watch(configMaps + "?watch=1&labelSelector=t&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=" + r.rv())
		w.events(3)
		e := w.next()
		got, _ := strconv.Atoi(child(e, "object", "metadata")["resourceVersion"].(string))
		want, _ := strconv.Atoi(r.rv())
		c.note("the bookmark is not older: %v", got >= want)
	}},
	{name: "WatchList options that do not fit", play: func(c *client) {
		for _, query := range []string{"sendInitialEvents=true", "sendInitialEvents=false", "resourceVersionMatch=NotOlderThan",
			"resourceVersionMatch=Exact&sendInitialEvents=true", "resourceVersion=x"} {
			c.get(configMaps + "?watch=1&timeoutSeconds=5&" + query)
		}
	}},
	{name: "WatchList of the future", play: func(c *client) {
		w := c.watch(configMaps + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=99999")
		w.events(2)
	}},
	{name: "sendInitialEvents=false", play: func(c *client) {
		three(c)
		w := c.watch(configMaps + "?watch=1&labelSelector=t&sendInitialEvents=false&resourceVersionMatch=NotOlderThan")
		w.quiet(settle)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		w.next()
	}},
	{name: "a watch too old", play: func(c *client) {
		// The watch cache of a custom resource begins with its definition.
		c.compact()
		w := c.watch(configMaps + "?watch=1&resourceVersion=2")
		w.events(2)
	}},
	{name: "a watch of the future waits", play: func(c *client) {
		w := c.watch(configMaps + "?watch=1&resourceVersion=99999")
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		w.quiet(settle)
	}},
	{name: "a watch ends when its time is over", play: func(c *client) {
		begin := time.Now()
		w := c.watch(configMaps + "?watch=1&labelSelector=t&timeoutSeconds=2")
		w.next()
		took := time.Since(begin)
		c.note("after about 2 s: %v", took > 1500*time.Millisecond && took < 4*time.Second)
	}},
	{name: "a last bookmark before the time is over", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","labels":{"t":"x"}}}`)
		w := c.watch(configMaps + "?watch=1&labelSelector=nothing&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=false")
		w.events(2)
		quiet := c.watch(configMaps + "?watch=1&labelSelector=nothing&timeoutSeconds=5&resourceVersionMatch=NotOlderThan&sendInitialEvents=false")
		quiet.next()
	}},
	{name: "a watch of all namespaces", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a","labels":{"t":"{ns}"}}}`)
		w := c.watch("/api/v1/configmaps?watch=1&labelSelector=t%3D{ns}&resourceVersion=" + r.rv())
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		w.next()
		cluster := c.watch("/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3D{ns}&resourceVersion=" + r.rv())
		c.patch(patchMerge, "/api/v1/namespaces/{ns}", `{"metadata":{"annotations":{"k":"v"}}}`)
		cluster.next()
	}},
	{name: "what a watch of a missing kind gets", play: func(c *client) {
		c.get("/api/v1/namespaces/{ns}/things?watch=1")
		c.get(pods + "?watch=1&fieldSelector=data.k%3D1")
		c.get(pods + "?watch=1&timeoutSeconds=x")
	}},
	{name: "dry runs are not seen", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a"}}`)
		w := c.watch(configMaps + "?watch=1&resourceVersion=" + r.rv() + "&fieldSelector=metadata.name%3Da")
		c.patch(patchMerge, configMaps+"/a?dryRun=All", `{"data":{"k":"v"}}`)
		c.delete(configMaps+"/a?dryRun=All", "")
		w.quiet(settle)
	}},
}
