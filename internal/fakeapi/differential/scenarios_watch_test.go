package differential

import (
	"strconv"
	"strings"
	"time"
)

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
		c.note("after 2 s or a little more: %v", took > 1500*time.Millisecond && took < eventually)
	}},
	{name: "a last bookmark before the time is over", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","labels":{"t":"x"}}}`)
		w := c.watch(configMaps + "?watch=1&labelSelector=nothing&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=false")
		// The real server may send it twice.
		bookmarks := 0
		for line := range w.lines {
			if strings.Contains(line, `"BOOKMARK"`) {
				bookmarks++
			}
		}
		c.note("at least one: %v", bookmarks > 0)
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
	{name: "the path of one object cannot be watched", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.get(configMaps + "/a?watch=1")
		c.get(configMaps + "/a?watch=1&fieldSelector=metadata.name%3Db")
	}},
	{name: "a finalizer that goes shows the object as it was last stored", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a","labels":{"t":"x"},"finalizers":["example.com/f"]}}`)
		w := c.watch(configMaps + "?watch=1&labelSelector=t&resourceVersion=" + r.rv())
		c.delete(configMaps+"/a", "")
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"finalizers":null,"labels":{"u":"y"}}}`)
		w.events(2)
	}},
	{name: "watching Events of one object", play: func(c *client) {
		event := `{"metadata":{"name":"%"},"involvedObject":{"kind":"Pod","namespace":"{ns}","name":"%"},"reason":"r","type":"Normal"}`
		r := c.post("/api/v1/namespaces/{ns}/events", strings.ReplaceAll(event, "%", "a"))
		w := c.watch("/api/v1/namespaces/{ns}/events?watch=1&fieldSelector=involvedObject.name%3Db&resourceVersion=" + r.rv())
		c.post("/api/v1/namespaces/{ns}/events", strings.ReplaceAll(event, "%", "c"))
		c.post("/api/v1/namespaces/{ns}/events", strings.ReplaceAll(event, "%", "b"))
		w.next()
		c.lists("/api/v1/namespaces/{ns}/events?fieldSelector=reason%3Dr,type%3DNormal,involvedObject.kind%3DPod")
		c.delete("/api/v1/namespaces/{ns}/events/a", `{"propagationPolicy":"Foreground"}`)
	}},
}
