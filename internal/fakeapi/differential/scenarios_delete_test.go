package differential

import (
	"net/http"
	"strings"
	"time"
)

var deleteScenarios = []scenario{
	{name: "delete and it is gone", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.delete(configMaps+"/a", "")
		c.get(configMaps + "/a")
		c.delete(configMaps+"/a", "")
	}},
	{name: "what a delete answers", play: func(c *client) {
		c.post(accounts, `{"metadata":{"name":"a"}}`)
		c.delete(accounts+"/a", "")
		c.post(services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`)
		c.delete(services+"/s", "")
		c.post(deployments, deployment)
		c.delete(deployments+"/d", "")
		c.post(widgets, widget)
		c.delete(widgets+"/w", "")
	}},
	{name: "a delete of all namespaces, and a create in none", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.post(widgets, widget)
		c.delete("/api/v1/configmaps", "")
		c.delete("/apis/apps/v1/deployments", "")
		c.delete("/apis/example.com/v1/widgets", "")
		c.post("/api/v1/configmaps", `{"metadata":{"name":"b"}}`)
		c.post("/apis/example.com/v1/widgets", widget)
		c.get(configMaps + "/a")
		c.get(widgets + "/w")
	}},
	{name: "preconditions of a delete", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.delete(configMaps+"/a", `{"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`)
		x := c.silently(http.MethodDelete, configMaps+"/a", `{"preconditions":{"resourceVersion":"1"}}`)
		c.note("%d %s", x.code, x.str("reason"))
		c.delete(configMaps+"/a", `{"preconditions":{"uid":"`+r.str("metadata", "uid")+`","resourceVersion":"`+r.rv()+`"}}`)
	}},
	{name: "options of a delete that are not", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.delete(configMaps+"/a", `{"propagationPolicy":"Nonsense"}`)
		c.delete(configMaps+"/a", `{"dryRun":["Some"]}`)
		c.delete(configMaps+"/a", `{"propagationPolicy":"Orphan","orphanDependents":true}`)
		r := c.silently(http.MethodDelete, configMaps+"/a", `{"`)
		c.note("%d %s", r.code, r.str("reason"))
		c.delete(configMaps+"/a?propagationPolicy=Foreground", "")
	}},
	{name: "finalizers hold an object back", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a","finalizers":["example.com/f","example.com/g"]}}`)
		w := c.watch(configMaps + "?watch=1&fieldSelector=metadata.name%3Da&resourceVersion=" + r.rv())
		c.delete(configMaps+"/a", "")
		c.delete(configMaps+"/a", "")
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"finalizers":["example.com/f"]},"data":{"k":"v"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"finalizers":["example.com/f","example.com/h"]}}`)
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"deletionTimestamp":null}}`)
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"finalizers":[]}}`)
		c.get(configMaps + "/a")
		w.events(3)
	}},
	{name: "the last finalizer goes by an update", play: func(c *client) {
		c.post(deployments, strings.Replace(deployment, `"name":"d"`, `"name":"d","finalizers":["example.com/f"]`, 1))
		r := c.delete(deployments+"/d", "")
		c.put(deployments+"/d", r.edit(func(o map[string]any) { delete(child(o, "metadata"), "finalizers") }))
		c.get(deployments + "/d")
	}},
	{name: "the last finalizer goes by a status update", play: func(c *client) {
		c.post(widgets, strings.Replace(widget, `"name":"w"`, `"name":"w","finalizers":["example.com/f"]`, 1))
		r := c.delete(widgets+"/w", "")
		c.put(widgets+"/w/status", r.edit(func(o map[string]any) { delete(child(o, "metadata"), "finalizers") }))
		c.patch(patchMerge, widgets+"/w", `{"metadata":{"finalizers":null}}`)
		c.get(widgets + "/w")
	}},
	{name: "propagation policies", play: func(c *client) {
		// A finalizer of our own keeps the objects from the real collector.
		kept := strings.Replace(replicaSet, `"name":"r"`, `"name":"%","finalizers":["example.com/f"]`, 1)
		for _, policy := range []string{"Foreground", "Orphan", "Background"} {
			name := strings.ToLower(policy)
			c.silently(http.MethodPost, configMaps, strings.Replace(`{"metadata":{"name":"%","finalizers":["example.com/f"]}}`, "%", name, 1))
			r := c.silently(http.MethodDelete, configMaps+"/"+name, `{"propagationPolicy":"`+policy+`"}`)
			finalizers := child(r.body, "metadata")["finalizers"]
			c.note("%s: %d %v", policy, r.code, finalizers)
			c.silently(http.MethodPatch, configMaps+"/"+name, `{"metadata":{"finalizers":[]}}`, "Content-Type", patchMerge)
		}
		c.silently(http.MethodPost, replicaSets, strings.Replace(kept, "%", "old", 1))
		r := c.silently(http.MethodDelete, replicaSets+"/old", `{"orphanDependents":false}`)
		c.note("orphanDependents=false: %d %v", r.code, child(r.body, "metadata")["finalizers"])
		c.silently(http.MethodPatch, replicaSets+"/old", `{"metadata":{"finalizers":[]}}`, "Content-Type", patchMerge)
	}},
	{name: "a pod that no node has goes at once", play: func(c *client) {
		r := c.post(pods, pod)
		w := c.watch(pods + "?watch=1&resourceVersion=" + r.rv())
		c.delete(pods+"/p", "")
		c.get(pods + "/p")
		w.events(2)
	}},
	{name: "a pod on a node waits for it", play: func(c *client) {
		bound := strings.Replace(pod, `{"schedulerName"`, `{"nodeName":"no-such-node","schedulerName"`, 1)
		r := c.post(pods, bound)
		w := c.watch(pods + "?watch=1&resourceVersion=" + r.rv())
		r = c.delete(pods+"/p", "")
		c.note("grace is 30: %v", gap(r))
		c.delete(pods+"/p", "")
		r = c.delete(pods+"/p", `{"gracePeriodSeconds":5}`)
		c.note("grace is 5: %v", gap(r))
		c.delete(pods+"/p", `{"gracePeriodSeconds":60}`)
		c.delete(pods+"/p", `{"gracePeriodSeconds":0}`)
		c.get(pods + "/p")
		w.events(4)
	}},
	{name: "a pod with a finalizer on a node", play: func(c *client) {
		bound := strings.Replace(pod, `{"schedulerName"`, `{"nodeName":"no-such-node","schedulerName"`, 1)
		c.post(pods, strings.Replace(bound, `"name":"p"`, `"name":"p","finalizers":["example.com/f"]`, 1))
		c.delete(pods+"/p", "")
		c.delete(pods+"/p", `{"gracePeriodSeconds":0}`)
		c.patch(patchMerge, pods+"/p", `{"metadata":{"finalizers":[]}}`)
		c.get(pods + "/p")
	}},
	{name: "a finished pod needs no grace", play: func(c *client) {
		bound := strings.Replace(pod, `{"schedulerName"`, `{"nodeName":"no-such-node","schedulerName"`, 1)
		c.post(pods, bound)
		c.patch(patchMerge, pods+"/p/status", `{"status":{"phase":"Succeeded"}}`)
		c.delete(pods+"/p", "")
		c.get(pods + "/p")
	}},
	{name: "delete a collection", play: func(c *client) {
		for _, body := range []string{`{"metadata":{"name":"a","labels":{"x":"1"}}}`, `{"metadata":{"name":"b","labels":{"x":"2"}}}`,
			`{"metadata":{"name":"c","labels":{"x":"1"},"finalizers":["example.com/f"]}}`} {
			c.silently(http.MethodPost, configMaps, body)
		}
		c.delete(configMaps+"?labelSelector=x%3D1&dryRun=All", "")
		c.delete(configMaps+"?labelSelector=x%3D1", "")
		c.get(configMaps + "?labelSelector=x")
		c.delete(configMaps+"?fieldSelector=metadata.name%3Db", "")
		c.get(configMaps + "?labelSelector=x")
		c.patch(patchMerge, configMaps+"/c", `{"metadata":{"finalizers":[]}}`)
		c.delete("/api/v1/namespaces", "")
	}},
	{name: "the version of a deletion", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a"}}`)
		w := c.watch(configMaps + "?watch=1&resourceVersion=" + r.rv())
		c.delete(configMaps+"/a", "")
		e := w.next()
		m := child(e, "object", "metadata")
		c.note("the DELETED event has a newer version: %v", m["resourceVersion"] != r.rv())
		// A watch from there must not see the deletion again.
		after := c.watch(configMaps + "?watch=1&timeoutSeconds=30&resourceVersion=" + m["resourceVersion"].(string))
		c.post(configMaps, `{"metadata":{"name":"b"}}`)
		after.next()
	}},
}

// gap is the time from now to the deletion, to the second.
func gap(r response) bool {
	at, err := time.Parse(time.RFC3339, r.str("metadata", "deletionTimestamp"))
	seconds, _ := child(r.body, "metadata")["deletionGracePeriodSeconds"].(float64)
	left := time.Until(at)
	return err == nil && left <= time.Duration(seconds)*time.Second && left > time.Duration(seconds-5)*time.Second
}

var namespaceScenarios = []scenario{
	{name: "what a namespace is born with", play: func(c *client) {
		c.post("/api/v1/namespaces", `{"metadata":{"name":"{ns}-x"},"spec":{"finalizers":["example.com/f"]},"status":{"phase":"Terminating"}}`)
		c.patch(patchMerge, "/api/v1/namespaces/{ns}-x", `{"spec":{"finalizers":[]},"status":{"phase":"Terminating"},"metadata":{"labels":{"kubernetes.io/metadata.name":"other"}}}`)
		c.put("/api/v1/namespaces/{ns}-x/finalize", `{"metadata":{"name":"{ns}-x"},"spec":{"finalizers":["kubernetes"]}}`)
		c.silently(http.MethodDelete, "/api/v1/namespaces/{ns}-x", "")
	}},
	{name: "a namespace on its way out", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"holds","finalizers":["example.com/f"]}}`)
		r := c.silently(http.MethodDelete, "/api/v1/namespaces/{ns}", "")
		c.note("%d %s %v", r.code, r.str("status", "phase"), child(r.body, "metadata")["deletionTimestamp"] != nil)
		c.post(configMaps, `{"metadata":{"name":"late"}}`)
		c.post(configMaps, `{"metadata":{"generateName":"late-"}}`)
		c.until(configMaps+"/holds", func(r response) bool { return child(r.body, "metadata")["deletionTimestamp"] != nil })
		c.patch(patchMerge, configMaps+"/holds", `{"metadata":{"finalizers":[]}}`)
		c.until("/api/v1/namespaces/{ns}", func(r response) bool { return r.code == http.StatusNotFound })
	}},
	{name: "an empty namespace goes by itself", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.silently(http.MethodDelete, "/api/v1/namespaces/{ns}", "")
		c.until(configMaps+"/a", func(r response) bool { return r.code == http.StatusNotFound })
		c.until("/api/v1/namespaces/{ns}", func(r response) bool { return r.code == http.StatusNotFound })
	}},
	{name: "namespaces that stay", play: func(c *client) {
		for _, name := range []string{"default", "kube-system", "kube-public"} {
			c.delete("/api/v1/namespaces/"+name, "")
		}
		c.delete("/api/v1/namespaces/no-such-namespace", "")
		c.delete("/api/v1/namespaces/{ns}", `{"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`)
	}},
}
