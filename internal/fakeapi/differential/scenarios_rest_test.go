package differential

import (
	"net/http"
	"sort"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

var protocolScenarios = []scenario{
	{name: "paths that lead nowhere", play: func(c *client) {
		c.get("/nope")
		c.get("/apis/no.such.group/v1")
		c.get("/apis/no.such.group/v1/namespaces/{ns}/things")
		c.get("/apis/apps/v9/namespaces/{ns}/deployments")
		c.get("/api/v1/namespaces/{ns}/things")
		c.get("/api/v1/namespaces/{ns}/pods/p/things")
		c.get("/api/v1/namespaces/{ns}/nodes")
		c.get("/api/v1/nodes/no-such-node")
		c.get("/apis/example.com/v1/namespaces/{ns}/things")
	}},
	{name: "methods that are not allowed", play: func(c *client) {
		c.put(pods, `{}`)
		c.post(pods+"/p", `{}`)
		c.delete("/api/v1/namespaces", "")
		c.patch(patchMerge, pods, `{}`)
		c.put("/api/v1/namespaces/{ns}/pods/p/binding", `{}`)
	}},
	{name: "encodings that are not offered", play: func(c *client) {
		for _, accept := range []string{"text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Nonsense;g=x;v=y"} {
			r := c.silently(http.MethodGet, widgets, "", "Accept", accept)
			c.note("%s: %d %s", accept, r.code, r.str("reason"))
		}
		r := c.silently(http.MethodPost, configMaps, "{}", "Content-Type", "text/html")
		c.note("%d %s", r.code, r.str("reason"))
		r = c.silently(http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "", "Accept", "application/yaml")
		c.note("watch as YAML: %d %s", r.code, r.str("reason"))
	}},
	{name: "what is preferred among encodings", play: func(c *client) {
		for _, accept := range []string{"", "*/*", "application/*,application/json", "application/vnd.kubernetes.protobuf,application/json", "text/html,application/json",
			"application/json;q=0.1,application/yaml", "application/json;as=Nonsense;v=v1;g=x,application/json", "application/yaml"} {
			r := c.silently(http.MethodGet, configMaps+"?limit=1&labelSelector=no", "", "Accept", accept)
			c.note("%q: %d %s", accept, r.code, r.head.Get("Content-Type"))
		}
	}},
	{name: "YAML in and out", play: func(c *client) {
		r := c.silently(http.MethodPost, configMaps, "metadata:\n  name: a\ndata:\n  k: v\n", "Content-Type", "application/yaml", "Accept", "application/yaml")
		var back map[string]any
		_ = yaml.Unmarshal(r.raw, &back)
		c.note("%d %s", r.code, c.norm.object(back, false))
	}},
	{name: "metadata only", play: func(c *client) {
		const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		const acceptList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		c.post(configMaps, `{"metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"}}`, "Accept", accept)
		c.get(configMaps+"/a", "Accept", accept)
		c.get(configMaps+"?labelSelector=x", "Accept", acceptList)
		c.get(widgets, "Accept", acceptList)
		w := c.watch(configMaps+"?watch=1&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&labelSelector=x", "Accept", accept)
		w.events(2)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":"w"}}`)
		w.next()
		c.get(configMaps+"/nope", "Accept", accept)
	}},
	{name: "discovery", play: func(c *client) {
		c.note("%v", c.silently(http.MethodGet, "/api", "").body["versions"])
		for _, path := range []string{"/api/v1", "/apis/apps/v1", "/apis/example.com/v1", "/apis/batch/v1"} {
			r := c.silently(http.MethodGet, path, "")
			var lines []string
			for _, entry := range r.body["resources"].([]any) {
				e := entry.(map[string]any)
				delete(e, "storageVersionHash")
				name := e["name"].(string)
				if inDiscovery[strings.Split(name, "/")[0]] && !notServed[name] {
					lines = append(lines, c.norm.object(e, false))
				}
			}
			sort.Strings(lines)
			for _, line := range lines {
				c.note("%s", line)
			}
		}
		c.get("/apis/apps")
		c.get("/apis/example.com")
	}},
	{name: "health", play: func(c *client) {
		c.get("/healthz")
		c.get("/readyz")
		c.get("/livez")
		r := c.silently(http.MethodGet, "/version", "")
		c.note("%s.%s", r.str("major"), r.str("minor"))
	}},
}

// inDiscovery are the resources whose entries are compared.
var inDiscovery = map[string]bool{"pods": true, "configmaps": true, "namespaces": true, "nodes": true, "services": true, "secrets": true,
	"deployments": true, "replicasets": true, "statefulsets": true, "daemonsets": true, "widgets": true, "gadgets": true, "jobs": true, "cronjobs": true,
	"serviceaccounts": true, "things": true}

// notServed are the subresources that the fake leaves out.
var notServed = map[string]bool{"pods/attach": true, "pods/exec": true, "pods/log": true, "pods/portforward": true, "pods/proxy": true,
	"pods/ephemeralcontainers": true, "pods/resize": true, "nodes/proxy": true, "services/proxy": true}

var subresourceScenarios = []scenario{
	{name: "the scale of a Deployment", play: func(c *client) {
		c.post(deployments, strings.Replace(deployment, `"selector"`, `"replicas":2,"selector"`, 1))
		r := c.get(deployments + "/d/scale")
		c.put(deployments+"/d/scale", r.edit(func(o map[string]any) { child(o, "spec")["replicas"] = 5 }))
		c.put(deployments+"/d/scale", r.edit(func(o map[string]any) { child(o, "spec")["replicas"] = 6 }))
		c.patch(patchMerge, deployments+"/d/scale", `{"spec":{"replicas":7}}`)
		c.get(deployments + "/d")
		x := c.silently(http.MethodPatch, deployments+"/d/scale", `{"spec":{"replicas":-1}}`, "Content-Type", patchMerge)
		c.note("%d %s", x.code, x.str("reason"))
		c.get(deployments + "/nope/scale")
		c.get(configMaps + "/a/scale")
	}},
	{name: "the scale of a custom resource", play: func(c *client) {
		c.post(widgets, widget)
		c.patch(patchMerge, widgets+"/w/status", `{"status":{"replicas":1,"selector":"a=b"}}`)
		c.get(widgets + "/w/scale")
		c.patch(patchMerge, widgets+"/w/scale", `{"spec":{"replicas":4}}`)
		c.get(widgets + "/w")
	}},
	{name: "the scale of a ReplicationController", play: func(c *client) {
		c.post(controllers, controller)
		// The real cluster has a controller that writes the status meanwhile. What it leaves alone is compared.
		show := func(r response) {
			c.note("%d %s %v %s", r.code, r.str("kind"), child(r.body, "spec")["replicas"], r.str("status", "selector"))
		}
		show(c.silently(http.MethodGet, controllers+"/rc/scale", ""))
		show(c.silently(http.MethodPatch, controllers+"/rc/scale", `{"spec":{"replicas":3}}`, "Content-Type", patchMerge))
		show(c.silently(http.MethodGet, controllers+"/rc", ""))
		c.post(controllers, `{"metadata":{"name":"empty"},"spec":{"replicas":-1,"template":{"spec":`+podSpec+`}}}`)
		c.post(controllers, strings.Replace(controller, `"selector":{"app":"x"}`, `"selector":{"app":"y"}`, 1))
		c.post(controllers, `{"metadata":{"name":"none"},"spec":{}}`)
		show(c.silently(http.MethodDelete, controllers+"/rc", ""))
		c.silently(http.MethodPatch, controllers+"/rc", `{"metadata":{"finalizers":[]}}`, "Content-Type", patchMerge)
	}},
	{name: "a scale is applied", play: func(c *client) {
		c.norm.managed = true
		scale := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":%}}`
		for _, path := range []string{deployments + "/d", widgets + "/w"} {
			c.post(deployments+"?fieldManager=one", strings.Replace(deployment, `"selector"`, `"replicas":2,"selector"`, 1))
			c.post(widgets+"?fieldManager=one", widget)
			apply := func(query, replicas string) {
				c.patch(patchApply, path+"/scale"+query, strings.Replace(strings.Replace(scale, "%", replicas, 1), `"d"`, `"`+path[len(path)-1:]+`"`, 1))
			}
			apply("?fieldManager=two", "3")
			apply("?fieldManager=two&force=true", "3")
			apply("?fieldManager=two", "4")
			apply("?fieldManager=two", "-1")
			c.patch(patchMerge, path+"/scale?fieldManager=three", `{"spec":{"replicas":6}}`)
			apply("?fieldManager=two", "7")
			apply("", "7")
			c.get(path)
		}
		c.patch(patchApply, deployments+"/nope/scale?fieldManager=two", strings.Replace(strings.Replace(scale, "%", "1", 1), `"d"`, `"nope"`, 1))
	}},
	{name: "binding a pod", play: func(c *client) {
		c.post(pods, pod)
		c.post(pods+"/p/binding", `{"metadata":{"name":"p","annotations":{"b":"c"}},"target":{"kind":"Node","name":"no-such-node"}}`)
		c.get(pods + "/p")
		c.post(pods+"/p/binding", `{"metadata":{"name":"p"},"target":{"kind":"Node","name":"other"}}`)
		c.post(pods+"/nope/binding", `{"metadata":{"name":"nope"},"target":{"kind":"Node","name":"other"}}`)
		c.silently(http.MethodDelete, pods+"/p", `{"gracePeriodSeconds":0}`)
	}},
	{name: "evicting a pod in the old version", play: func(c *client) {
		c.post(pods, pod)
		c.post(pods+"/p/eviction", `{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}}`)
		c.post(pods+"/p/eviction", `{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p"}}`)
		c.get(pods + "/p")
		c.post(pods+"/p/eviction", `{"apiVersion":"policy/v2","kind":"Eviction","metadata":{"name":"p"}}`)
	}},
	{name: "evicting a pod", play: func(c *client) {
		c.post(pods, strings.Replace(pod, `"name":"p"`, `"name":"p","labels":{"app":"x"}`, 1))
		c.post(pods+"/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`)
		c.get(pods + "/p")
		c.post(pods+"/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`)
	}},
}

var validationScenarios = []scenario{
	{name: "what may change in a pod", play: func(c *client) {
		c.post(pods, pod)
		for _, patch := range []string{
			`{"spec":{"containers":[{"name":"c","image":"img:2"}]}}`,
			`{"spec":{"activeDeadlineSeconds":60}}`,
			`{"spec":{"nodeName":"n"}}`,
			`{"spec":{"restartPolicy":"Never"}}`,
			`{"spec":{"containers":[{"name":"c","command":["x"]}]}}`,
		} {
			r := c.silently(http.MethodPatch, pods+"/p", patch, "Content-Type", patchStrategic)
			c.note("%s: %d %s", patch, r.code, r.str("reason"))
		}
		c.post(pods, `{"metadata":{"name":"q"},"spec":{}}`)
		c.post(pods, `{"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}]}}`)
	}},
	{name: "the selector of a workload", play: func(c *client) {
		c.post(deployments, deployment)
		for _, patch := range []string{
			`{"spec":{"selector":{"matchLabels":{"app":"y"}},"template":{"metadata":{"labels":{"app":"y"}}}}}`,
			`{"spec":{"replicas":-1}}`,
			`{"spec":{"template":{"metadata":{"labels":{"app":"z"}}}}}`,
		} {
			r := c.silently(http.MethodPatch, deployments+"/d", patch, "Content-Type", patchMerge)
			c.note("%s: %d %s %s", patch, r.code, r.str("reason"), r.str("message"))
		}
		c.post(deployments, `{"metadata":{"name":"e"},"spec":{"template":`+template+`}}`)
		c.post(deployments, `{"metadata":{"name":"e"},"spec":{"selector":{"matchLabels":{"app":"other"}},"template":`+template+`}}`)
		c.post(replicaSets, `{"metadata":{"name":"e"},"spec":{"selector":{"matchLabels":{"app":"other"}},"template":`+template+`}}`)
	}},
	{name: "jobs do not change their pods", play: func(c *client) {
		job := strings.Replace(template, `"schedulerName"`, `"restartPolicy":"Never","schedulerName"`, 1)
		c.post(jobs, `{"metadata":{"name":"k"},"spec":{"suspend":true,"template":`+template+`}}`)
		c.silently(http.MethodPost, jobs, `{"metadata":{"name":"j"},"spec":{"completions":3,"parallelism":0,"template":`+job+`}}`)
		for _, patch := range []string{`{"spec":{"parallelism":0,"backoffLimit":2}}`, `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`} {
			r := c.silently(http.MethodPatch, jobs+"/j", patch, "Content-Type", patchMerge)
			c.note("%s: %d %s", patch, r.code, r.str("reason"))
		}
	}},
	{name: "jobs leave their pods behind unless told", play: func(c *client) {
		job := strings.Replace(template, `"schedulerName"`, `"restartPolicy":"Never","schedulerName"`, 1)
		c.silently(http.MethodPost, jobs, `{"metadata":{"name":"j","finalizers":["example.com/f"]},"spec":{"suspend":true,"template":`+job+`}}`)
		r := c.silently(http.MethodDelete, jobs+"/j", "")
		c.note("%d %v", r.code, child(r.body, "metadata")["finalizers"])
		c.silently(http.MethodPatch, jobs+"/j", `{"metadata":{"finalizers":[]}}`, "Content-Type", patchMerge)
	}},
}

// settle gives the real server's watch cache the time to catch up.
const settle = 300 * time.Millisecond
