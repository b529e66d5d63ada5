package differential

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strings"
)

const byNamespace, byUID = "object.metadata.namespace", "object.metadata.uid"

// hashOf is the number by which a server sorts a name into a shard.
func hashOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it can't fail
	return h.Sum64()
}

const theEnd = "0x10000000000000000" // 2^64

func hex(n uint64) string { return fmt.Sprintf("0x%016x", n) }

func rangeOf(field, from, to string) string {
	return fmt.Sprintf("shardRange(%s, '%s', '%s')", field, from, to)
}

// only selects what has one hash, and others what has any other.
func only(field, name string) string {
	return rangeOf(field, hex(hashOf(name)), hex(hashOf(name)+1))
}

func others(field, name string) string {
	return rangeOf(field, hex(0), hex(hashOf(name))) + " || " + rangeOf(field, hex(hashOf(name)+1), theEnd)
}

// shardOf is the part of a query that selects a shard.
func shardOf(selector string) string { return "shardSelector=" + url.QueryEscape(selector) }

// shard writes down what a list with a selector yields: names, and whether the answer says that the
// server has selected.
func (c *client) shard(path, what, selector string, headers ...string) response {
	c.t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	r := c.silently(http.MethodGet, path+join+shardOf(selector), "", headers...)
	if r.code != http.StatusOK {
		c.note("%s, %s -> %d %s", path, what, r.code, c.norm.body(r))
		return r
	}
	m := child(r.body, "metadata")
	echoed := "none"
	if info, ok := m["shardInfo"].(map[string]any); ok {
		echoed = fmt.Sprintf("the selector: %t, fields %d", info["selector"] == selector, len(info))
	}
	c.note("%s, %s -> %s [%s] continue=%v remaining=%v info=%s", path, what, r.str("kind"), names(r),
		m["continue"] != nil, m["remainingItemCount"], echoed)
	return r
}

// neighbour is a namespace beside the scenario's. Its objects have the scenario's name as a label.
func (c *client) neighbour() (name string, leave func()) {
	name = c.ns + "-too"
	c.silently(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"`+name+`"}}`)
	return name, func() { c.silently(http.MethodDelete, "/api/v1/namespaces/"+name, "") }
}

// shardedMaps makes ConfigMaps a, b and c in the scenario's namespace and d, e, f in another one.
// all is the path of all six.
func shardedMaps(c *client) (all, neighbour string, leave func(), last response) {
	neighbour, leave = c.neighbour()
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		where := "{ns}"
		if name >= "d" {
			where = neighbour
		}
		last = c.silently(http.MethodPost, "/api/v1/namespaces/"+where+"/configmaps",
			`{"metadata":{"name":"`+name+`","labels":{"of":"{ns}"}}}`)
	}
	return "/api/v1/configmaps?labelSelector=of%3D{ns}", neighbour, leave, last
}

var shardScenarios = []scenario{
	{name: "shards: lists by namespace", play: func(c *client) {
		all, neighbour, leave, _ := shardedMaps(c)
		defer leave()
		c.shard(all, "one namespace", only(byNamespace, c.ns))
		c.shard(all, "the other", only(byNamespace, neighbour))
		c.shard(all, "both", only(byNamespace, neighbour)+" || "+only(byNamespace, c.ns))
		c.shard(all, "all but one", others(byNamespace, c.ns))
		c.shard(all, "all", rangeOf(byNamespace, hex(0), theEnd))
		c.shard(all, "all but the highest number", rangeOf(byNamespace, hex(0), "0xffffffffffffffff"))
		c.shard(all+"&fieldSelector=metadata.name%3Db", "with a field", only(byNamespace, c.ns))
		c.shard(all+"&fieldSelector=metadata.name%3Dd", "with a field of the other", only(byNamespace, c.ns))
		c.shard(configMaps+"?labelSelector=of", "of one namespace, the other's shard", only(byNamespace, neighbour))
		c.lists(all + "&shardSelector=")
	}},
	{name: "shards: lists by uid", play: func(c *client) {
		all, _, leave, last := shardedMaps(c)
		defer leave()
		uid := last.str("metadata", "uid")
		c.shard(all, "one object", only(byUID, uid))
		c.shard(all, "all others", others(byUID, uid))
		c.shard(all, "a range that ends before", rangeOf(byUID, hex(hashOf(uid)-1), hex(hashOf(uid))))
	}},
	{name: "shards: from the cache, from storage, and at a version", play: func(c *client) {
		all, _, leave, last := shardedMaps(c)
		defer leave()
		c.silently(http.MethodDelete, configMaps+"/a", "")
		for _, query := range []string{
			"", "&resourceVersion=0", "&resourceVersion=" + last.rv() + "&resourceVersionMatch=NotOlderThan",
			"&resourceVersion=" + last.rv() + "&resourceVersionMatch=Exact",
		} {
			if query == "&resourceVersion=0" {
				c.waitForCache(all)
			}
			c.shard(all+query, "one namespace", only(byNamespace, c.ns))
		}
	}},
	{name: "shards: pages", play: func(c *client) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.silently(http.MethodPost, leases, `{"metadata":{"name":"`+name+`"}}`)
		}
		one := only(byNamespace, c.ns)
		r := c.shard(leases+"?limit=2", "the first", one)
		c.silently(http.MethodDelete, leases+"/e", "")
		next := c.shard(leases+"?limit=2&continue="+r.str("metadata", "continue"), "the second", one)
		c.note("the same version: %v", r.rv() == next.rv())
		c.shard(leases+"?limit=2&continue="+next.str("metadata", "continue"), "the third", one)
		c.shard(leases+"?limit=2", "nothing", others(byNamespace, c.ns))
		c.shard(leases+"?limit=2&resourceVersion=0", "from the cache", one)
		c.shard(leases+"?limit=2&continue="+r.str("metadata", "continue"), "the second of another shard", others(byNamespace, c.ns))
		c.shard(leases+"?limit=2&labelSelector=no", "with a label", one)
	}},
	{name: "shards: pages with gaps", play: func(c *client) {
		// The objects of a shard by uid lie between others.
		uids := map[string]string{}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			r := c.silently(http.MethodPost, leases, `{"metadata":{"name":"`+name+`"}}`)
			uids[name] = r.str("metadata", "uid")
		}
		three := only(byUID, uids["a"]) + " || " + only(byUID, uids["c"]) + " || " + only(byUID, uids["e"])
		r := c.shard(leases+"?limit=2", "the first", three)
		c.shard(leases+"?limit=2&continue="+r.str("metadata", "continue"), "the second", three)
		c.shard(leases+"?limit=3", "just fits", three)
		c.shard(leases+"?limit=1", "just fits, and others follow", only(byUID, uids["a"]))
	}},
	{name: "shards: cluster-scoped objects", play: func(c *client) {
		c.silently(http.MethodPost, gadgets, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"{ns}","labels":{"of":"{ns}"}}}`)
		defer c.silently(http.MethodDelete, gadgets+"/{ns}", "")
		c.shard(gadgets+"?labelSelector=of%3D{ns}", "the empty name", only(byNamespace, ""))
		c.shard(gadgets+"?labelSelector=of%3D{ns}", "the others", others(byNamespace, ""))
		c.shard("/api/v1/namespaces?fieldSelector=metadata.name%3D{ns}", "the empty name", only(byNamespace, ""))
		c.shard("/api/v1/namespaces?fieldSelector=metadata.name%3D{ns}", "its own name", only(byNamespace, c.ns))
	}},
	{name: "shards: custom resources", play: func(c *client) {
		r := c.silently(http.MethodPost, widgets, widget)
		c.shard(widgets, "its namespace", only(byNamespace, c.ns))
		c.shard(widgets, "the others", others(byNamespace, c.ns))
		c.shard(widgets+"?fieldSelector=spec.color%3Dblue", "with a field", only(byNamespace, c.ns))
		w := c.watch(widgets + "?watch=1&resourceVersion=" + r.rv() + "&" + shardOf(only(byNamespace, c.ns)))
		c.patch(patchMerge, widgets+"/w", `{"spec":{"color":"blue"}}`)
		w.next()
	}},
	{name: "shards: metadata alone", play: func(c *client) {
		all, _, leave, _ := shardedMaps(c)
		defer leave()
		as := []string{"Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
		c.shard(all, "one namespace", only(byNamespace, c.ns), as...)
		c.shard(all, "the others", others(byNamespace, c.ns), as...)
		c.shard(all+"&limit=2", "a page", only(byNamespace, c.ns), as...)
	}},
	{name: "shards: watches", play: func(c *client) {
		all, neighbour, leave, r := shardedMaps(c)
		defer leave()
		theirs := "/api/v1/namespaces/" + neighbour + "/configmaps"
		w := c.watch(all + "&watch=1&resourceVersion=" + r.rv() + "&" + shardOf(only(byNamespace, c.ns)))
		c.silently(http.MethodPatch, theirs+"/d", `{"data":{"k":"v"}}`, "Content-Type", patchMerge)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		c.silently(http.MethodDelete, theirs+"/e", "")
		c.delete(configMaps+"/a", "")
		c.silently(http.MethodPost, theirs, `{"metadata":{"name":"g","labels":{"of":"{ns}"}}}`)
		c.post(configMaps, `{"metadata":{"name":"h","labels":{"of":"{ns}"}}}`)
		c.patch(patchMerge, configMaps+"/h", `{"metadata":{"labels":{"of":"nobody"}}}`)
		c.patch(patchMerge, configMaps+"/h", `{"metadata":{"labels":{"of":"{ns}"}}}`)
		c.post(configMaps, lastOne)
		w.untilLast()
	}},
	{name: "shards: a watch by uid", play: func(c *client) {
		all, _, leave, r := shardedMaps(c)
		defer leave()
		uid := r.str("metadata", "uid") // of f, in the other namespace
		w := c.watch(all + "&watch=1&resourceVersion=" + r.rv() + "&" + shardOf(others(byUID, uid)))
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		c.silently(http.MethodPatch, "/api/v1/namespaces/"+c.ns+"-too/configmaps/f", `{"data":{"k":"v"}}`, "Content-Type", patchMerge)
		c.delete(configMaps+"/b", "")
		c.post(configMaps, lastOne)
		w.untilLast()
	}},
	{name: "shards: WatchList", play: func(c *client) {
		all, _, leave, _ := shardedMaps(c)
		defer leave()
		const stream = "&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&"
		w := c.watch(all + stream + shardOf(only(byNamespace, c.ns)))
		w.untilBookmark()
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"v"}}`)
		w.next()
		none := c.watch(all + stream + shardOf(rangeOf(byNamespace, hex(hashOf(c.ns)+1), hex(hashOf(c.ns)+2))))
		none.untilBookmark()
	}},
	{name: "shards: watches from nowhere", play: func(c *client) {
		all, _, leave, _ := shardedMaps(c)
		defer leave()
		c.waitForCache(all)
		for _, version := range []string{"", "&resourceVersion=0"} {
			w := c.watch(all + "&watch=1" + version + "&" + shardOf(only(byNamespace, c.ns)))
			w.events(3)
		}
	}},
	{name: "shards: selectors that make no sense", play: func(c *client) {
		upper := strings.ToUpper(hex(hashOf(c.ns)))
		for _, selector := range []string{
			" ", rangeOf(byNamespace, "0x0", "0x8000000000000000"), rangeOf(byNamespace, hex(0), "0x20000000000000000"),
			rangeOf(byNamespace, hex(2), hex(1)), rangeOf(byNamespace, hex(1), hex(1)),
			rangeOf("object.metadata.name", hex(0), hex(1)), rangeOf("metadata.namespace", hex(0), hex(1)),
			rangeOf(byNamespace, hex(0), hex(1)) + " || " + rangeOf(byUID, hex(2), hex(3)),
			rangeOf(byNamespace, hex(0), "1000000000000000"), rangeOf(byNamespace, hex(0), "0x"),
			rangeOf(byNamespace, hex(0), "0x100000000000000000"), rangeOf(byNamespace, hex(0), strings.ReplaceAll(upper, "X", "x")),
			rangeOf(byNamespace, upper, theEnd), rangeOf(byNamespace, hex(0), "0x000000000000000g"),
		} {
			c.get(configMaps + "?labelSelector=no&" + shardOf(selector))
		}
		c.note("a watch")
		c.get(configMaps + "?watch=1&timeoutSeconds=1&labelSelector=no&" + shardOf(rangeOf(byNamespace, hex(2), hex(1))))
	}},
	{name: "shards: selectors that aren't even selectors", play: func(c *client) {
		one := rangeOf(byNamespace, hex(0), hex(1))
		for _, selector := range []string{
			"x", "(", one + " && " + one, one + " ||", "shardRange(object.metadata.namespace)", "!" + one, "a || " + one,
			"shardRange(object.metadata.namespace, 0, 1)",
		} {
			// The real server's messages are those of a parser of CEL.
			r := c.silently(http.MethodGet, configMaps+"?labelSelector=no&"+shardOf(selector), "")
			c.note("%s: %d %s %v", selector, r.code, r.str("reason"), strings.HasPrefix(r.str("message"), "invalid shard selector: "))
		}
		c.shard(configMaps+"?labelSelector=no", "in other words",
			" shardRange( object.metadata.namespace,\""+hex(0)+"\",'"+hex(1)+"')||"+one)
	}},
	{name: "shards: deleting a shard", play: func(c *client) {
		all, neighbour, leave, _ := shardedMaps(c)
		defer leave()
		r := c.silently(http.MethodDelete, configMaps+"?labelSelector=of&"+shardOf(only(byNamespace, neighbour)), "")
		c.note("%d [%s]", r.code, names(r))
		c.lists(all)
	}},
}

// shardDifferenceScenarios are what the fake does otherwise when the gate is on.
var shardDifferenceScenarios = []scenario{
	{name: "shards: a watch of Events", differs: "kube-apiserver 1.36 ignores the selector where it has no watch cache, " +
		"though its list says that it has selected; 1.37 doesn't", play: func(c *client) {
		neighbour, leave := c.neighbour()
		defer leave()
		event := func(namespace, name string) response {
			return c.silently(http.MethodPost, "/api/v1/namespaces/"+namespace+"/events", `{"metadata":{"name":"`+name+`"},
				"involvedObject":{"kind":"Pod","namespace":"`+namespace+`","name":"p"},"reason":"r","type":"Normal"}`)
		}
		r := event("{ns}", "a")
		c.shard("/api/v1/namespaces/{ns}/events", "another namespace", only(byNamespace, neighbour))
		w := c.watch("/api/v1/events?watch=1&resourceVersion=" + r.rv() + "&" + shardOf(only(byNamespace, neighbour)))
		event("{ns}", "b")
		event(neighbour, "last")
		w.untilLast()
	}},
	{name: "shards: a table", differs: "plain JSON only", play: func(c *client) {
		all, _, leave, _ := shardedMaps(c)
		defer leave()
		c.shard(all, "one namespace", only(byNamespace, c.ns), "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json")
	}},
}

// lastOne is the object whose event ends untilLast.
const lastOne = `{"metadata":{"name":"last","labels":{"of":"{ns}"}}}`

// untilLast writes down the events up to that of the object "last".
func (w *watching) untilLast() {
	for {
		e := w.next()
		if e == nil || child(e, "object", "metadata")["name"] == "last" {
			return
		}
	}
}

// untilBookmark writes down events up to a bookmark.
func (w *watching) untilBookmark() {
	for {
		if e := w.next(); e == nil || e["type"] == "BOOKMARK" {
			return
		}
	}
}

// waitForCache waits until the watch cache has what storage has.
func (c *client) waitForCache(path string) {
	c.silently(http.MethodGet, path+"&resourceVersionMatch=NotOlderThan&resourceVersion="+
		c.silently(http.MethodGet, path, "").rv(), "")
}
