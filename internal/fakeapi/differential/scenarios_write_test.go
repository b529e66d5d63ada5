package differential

import (
	"net/http"
	"strings"
)

// Paths of the scenarios; {ns} is the scenario's own namespace.
const (
	configMaps  = "/api/v1/namespaces/{ns}/configmaps"
	secrets     = "/api/v1/namespaces/{ns}/secrets"
	pods        = "/api/v1/namespaces/{ns}/pods"
	services    = "/api/v1/namespaces/{ns}/services"
	accounts    = "/api/v1/namespaces/{ns}/serviceaccounts"
	deployments = "/apis/apps/v1/namespaces/{ns}/deployments"
	replicaSets = "/apis/apps/v1/namespaces/{ns}/replicasets"
	controllers = "/api/v1/namespaces/{ns}/replicationcontrollers"
	jobs        = "/apis/batch/v1/namespaces/{ns}/jobs"
	slicesPath  = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
	leases      = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
	widgets     = "/apis/example.com/v1/namespaces/{ns}/widgets"
	gadgets     = "/apis/example.com/v1/gadgets"
)

// A pod that no scheduler takes, and the objects that make such pods.
const (
	podSpec    = `{"schedulerName":"nobody","containers":[{"name":"c","image":"img:1"}]}`
	template   = `{"metadata":{"labels":{"app":"x"}},"spec":` + podSpec + `}`
	pod        = `{"metadata":{"name":"p"},"spec":` + podSpec + `}`
	deployment = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"app":"x"}},"template":` + template + `}}`
	replicaSet = `{"metadata":{"name":"r"},"spec":{"selector":{"matchLabels":{"app":"x"}},"template":` + template + `}}`
	controller = `{"metadata":{"name":"rc"},"spec":{"selector":{"app":"x"},"template":` + template + `}}`
	widget     = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"red","replicas":2},"status":{"replicas":9}}`
)

var createScenarios = []scenario{
	{name: "create and get a ConfigMap", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","labels":{"x":"y"},"annotations":{"n":"o"}},"data":{"k":"v"}}`)
		c.get(configMaps + "/a")
	}},
	{name: "create what exists already", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
	}},
	{name: "names that are not names", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"Upper"}}`)
		c.post(configMaps, `{"metadata":{"name":"`+strings.Repeat("x", 254)+`"}}`)
		c.post(services, `{"metadata":{"name":"1st"},"spec":{"ports":[{"port":80}]}}`)
		c.post("/api/v1/namespaces", `{"metadata":{"name":"a.b"}}`)
		c.post(configMaps, `{"metadata":{}}`)
		c.post(widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"UP"}}`)
	}},
	{name: "generated names", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"generateName":"gen-"}}`)
		c.post(configMaps, `{"metadata":{"generateName":"`+strings.Repeat("y", 70)+`-"}}`)
		c.post(configMaps, `{"metadata":{"generateName":"gen-","name":"given"}}`)
		r := c.silently(http.MethodPost, configMaps, `{"metadata":{"generateName":"Bad-"}}`)
		c.note("%d %s", r.code, r.str("reason"))
	}},
	{name: "the namespace of the object and of the request", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","namespace":"other"}}`)
		c.post(configMaps, `{"metadata":{"name":"a","namespace":"{ns}"}}`)
		c.post("/api/v1/namespaces/no-such-namespace/configmaps", `{"metadata":{"name":"a"}}`)
		c.post("/api/v1/configmaps", `{"metadata":{"name":"a","namespace":"{ns}"}}`)
	}},
	{name: "fields that only the server sets", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","uid":"mine","creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"2001-01-01T00:00:00Z","generation":7,"selfLink":"x"}}`)
		c.post(configMaps, `{"metadata":{"name":"b","resourceVersion":"5"}}`)
		c.post(deployments, strings.Replace(deployment, `"name":"d"`, `"name":"d","generation":7`, 1))
	}},
	{name: "unknown fields", play: func(c *client) {
		body := `{"metadata":{"name":"%"},"bogus":1,"data":{"k":"v"}}`
		c.post(configMaps, strings.Replace(body, "%", "a", 1))
		c.post(configMaps+"?fieldValidation=Ignore", strings.Replace(body, "%", "b", 1))
		c.post(configMaps+"?fieldValidation=Strict", strings.Replace(body, "%", "c", 1))
		c.post(configMaps+"?fieldValidation=Nonsense", strings.Replace(body, "%", "d", 1))
		c.post(configMaps, `{"metadata":{"name":"e"},"data":{"k":"1","k":"2"}}`)
	}},
	{name: "bodies that are not the object", play: func(c *client) {
		c.post(configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":5}}`)
		c.post(configMaps, `{"metadata":{"name":"a"`)
		c.post(configMaps, `{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}}`)
	}},
	{name: "metadata that is not valid", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","labels":{"-x":"y"}}}`)
		c.post(configMaps, `{"metadata":{"name":"a","labels":{"x":"y y"}}}`)
		c.post(configMaps, `{"metadata":{"name":"a","annotations":{"-":"y"}}}`)
		c.post(configMaps, `{"metadata":{"name":"a","finalizers":["no good"]}}`)
		r := c.silently(http.MethodPost, configMaps, `{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p"}]}}`)
		c.note("%d %s", r.code, r.str("reason"))
		c.post(configMaps, `{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1","controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"2","controller":true}]}}`)
	}},
	{name: "repeated owner references", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}]}}`)
	}},
	{name: "defaults of a Deployment", play: func(c *client) { c.post(deployments, deployment) }},
	{name: "defaults of a ReplicaSet", play: func(c *client) { c.post(replicaSets, replicaSet) }},
	{name: "defaults of a Pod", play: func(c *client) {
		c.post(pods, pod)
		c.post(pods, `{"metadata":{"name":"q"},"spec":{"schedulerName":"nobody","containers":[{"name":"c","image":"reg:5000/img","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"readinessProbe":{"httpGet":{"port":80}}}]}}`)
		c.post(pods, `{"metadata":{"name":"r"},"spec":{"schedulerName":"nobody","containers":[{"name":"c","image":"img:latest","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Running"}}`)
	}},
	{name: "defaults of a StatefulSet", play: func(c *client) {
		c.post("/apis/apps/v1/namespaces/{ns}/statefulsets", `{"metadata":{"name":"s"},"spec":{"replicas":0,"serviceName":"s","selector":{"matchLabels":{"app":"x"}},"template":`+template+`}}`)
	}},
	{name: "defaults of a Job and a CronJob", play: func(c *client) {
		job := strings.Replace(template, `"schedulerName"`, `"restartPolicy":"Never","schedulerName"`, 1)
		c.post(jobs, `{"metadata":{"name":"j"},"spec":{"suspend":true,"template":`+job+`}}`)
		c.post("/apis/batch/v1/namespaces/{ns}/cronjobs", `{"metadata":{"name":"k"},"spec":{"suspend":true,"schedule":"0 0 1 1 *","jobTemplate":{"spec":{"template":`+job+`}}}}`)
	}},
	{name: "defaults of a Service and Endpoints", play: func(c *client) {
		c.post(services, `{"metadata":{"name":"s"},"spec":{"selector":{"no":"pod"},"ports":[{"port":80}]}}`)
		c.post("/api/v1/namespaces/{ns}/endpoints", `{"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"10.1.1.1"}],"ports":[{"port":80}]}]}`)
		c.post(slicesPath, `{"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[{"addresses":["10.1.1.1"]}],"ports":[{"port":80}]}`)
	}},
	{name: "Secrets and what they are given as", play: func(c *client) {
		c.post(secrets, `{"metadata":{"name":"a"},"data":{"k":"dg=="},"stringData":{"l":"w"}}`)
		r := c.get(secrets + "/a")
		c.put(secrets+"/a", r.edit(func(o map[string]any) { o["type"] = "other" }))
	}},
	{name: "custom resources keep what they are given", play: func(c *client) {
		c.post(widgets, widget)
		c.get(widgets + "/w")
		c.post(gadgets, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"{ns}"},"spec":{"a":[1,2.5,"x",null,{"b":true}]},"status":{"s":1}}`)
		c.delete(gadgets+"/{ns}", "")
	}},
	{name: "dry run", play: func(c *client) {
		c.post(configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`)
		c.get(configMaps + "/a")
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.put(configMaps+"/a?dryRun=All", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.patch(patchMerge, configMaps+"/a?dryRun=All", `{"data":{"k":"v"}}`)
		c.delete(configMaps+"/a", `{"dryRun":["All"]}`)
		c.get(configMaps + "/a")
		c.post(configMaps+"?dryRun=Some", `{"metadata":{"name":"b"}}`)
	}},
}

var updateScenarios = []scenario{
	{name: "an update that changes nothing keeps the version", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.put(configMaps+"/a", string(r.raw))
		c.put(configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.get(configMaps + "/a")
	}},
	{name: "optimistic concurrency", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a"}}`)
		set := func(v string) string { return r.edit(func(o map[string]any) { child(o, "data")["k"] = v }) }
		c.put(configMaps+"/a", set("1"))
		c.put(configMaps+"/a", set("2"))
		c.put(configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"3"}}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"a","resourceVersion":"garbage"}}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"a","resourceVersion":"0"}}`)
	}},
	{name: "updates of another object", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"a","uid":"00000000-0000-0000-0000-000000000000"}}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"b"}}`)
		c.put(configMaps+"/a", `{"metadata":{}}`)
		c.put(configMaps+"/nope", `{"metadata":{"name":"nope"}}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"a","namespace":"other"}}`)
	}},
	{name: "metadata that an update cannot change", play: func(c *client) {
		r := c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.put(configMaps+"/a", r.edit(func(o map[string]any) {
			m := child(o, "metadata")
			m["creationTimestamp"], m["generation"], m["selfLink"] = "2001-01-01T00:00:00Z", 9, "/x"
			m["deletionTimestamp"] = "2001-01-01T00:00:00Z"
		}))
		c.put(configMaps+"/a", r.edit(func(o map[string]any) {
			child(o, "metadata")["creationTimestamp"] = nil
			child(o, "metadata")["generateName"] = "other-"
		}))
	}},
	{name: "kinds that are created by an update", play: func(c *client) {
		c.put(leases+"/l", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}`)
		c.put(leases+"/l", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"you"}}`)
		c.put(deployments+"/d", deployment)
	}},
	{name: "immutable ConfigMaps", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"},"immutable":true}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"w"},"immutable":true}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.put(configMaps+"/a", `{"metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"},"immutable":true}`)
	}},
	{name: "an update of a custom resource needs no type but a right one", play: func(c *client) {
		r := c.post(widgets, widget)
		c.put(widgets+"/w", r.edit(func(o map[string]any) { child(o, "spec")["color"] = "blue" }))
		c.put(widgets+"/w", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{}}`)
	}},
}

var generationScenarios = []scenario{
	{name: "the generation of a Deployment", play: func(c *client) {
		c.post(deployments, deployment)
		c.patch(patchMerge, deployments+"/d", `{"metadata":{"labels":{"a":"b"}}}`)
		c.patch(patchMerge, deployments+"/d", `{"metadata":{"annotations":{"a":"b"}}}`)
		c.patch(patchMerge, deployments+"/d", `{"spec":{"replicas":3}}`)
		c.patch(patchMerge, deployments+"/d", `{"spec":{"replicas":3}}`)
		c.patch(patchMerge, deployments+"/d", `{"status":{"replicas":3}}`)
		c.patch(patchMerge, deployments+"/d/status", `{"status":{"replicas":3}}`)
	}},
	{name: "the generation of a ReplicaSet", play: func(c *client) {
		c.post(replicaSets, replicaSet)
		c.patch(patchMerge, replicaSets+"/r", `{"metadata":{"annotations":{"a":"b"}}}`)
		c.patch(patchMerge, replicaSets+"/r", `{"spec":{"replicas":3}}`)
	}},
	{name: "the generation of a Pod", play: func(c *client) {
		c.post(pods, pod)
		c.patch(patchMerge, pods+"/p", `{"metadata":{"annotations":{"a":"b"}}}`)
		c.patch(patchStrategic, pods+"/p", `{"spec":{"containers":[{"name":"c","image":"img:2"}]}}`)
		c.patch(patchMerge, pods+"/p/status", `{"status":{"phase":"Running"}}`)
	}},
	{name: "the generation of an EndpointSlice", play: func(c *client) {
		c.post(slicesPath, `{"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[{"addresses":["10.1.1.2"]}]}`)
		c.patch(patchMerge, slicesPath+"/e", `{"metadata":{"annotations":{"a":"b"}}}`)
		c.patch(patchMerge, slicesPath+"/e", `{"metadata":{"labels":{"a":"b"}}}`)
		c.patch(patchMerge, slicesPath+"/e", `{"endpoints":[{"addresses":["10.1.1.1"]}]}`)
	}},
	{name: "the generation of custom resources", play: func(c *client) {
		c.post(widgets, widget)
		c.patch(patchMerge, widgets+"/w", `{"metadata":{"labels":{"a":"b"}}}`)
		c.patch(patchMerge, widgets+"/w", `{"spec":{"color":"blue"}}`)
		c.patch(patchMerge, widgets+"/w", `{"status":{"replicas":3}}`)
		c.patch(patchMerge, widgets+"/w", `{"extra":1}`)
		c.post(gadgets, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"{ns}"}}`)
		c.patch(patchMerge, gadgets+"/{ns}", `{"status":{"x":1}}`)
		c.delete(gadgets+"/{ns}", "")
	}},
	{name: "kinds without a generation", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"a":"b"}}`)
		c.post(services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`)
		c.patch(patchMerge, services+"/s", `{"spec":{"selector":{"no":"pod"}}}`)
	}},
}

var statusScenarios = []scenario{
	{name: "the status of a Deployment", play: func(c *client) {
		r := c.post(deployments, strings.Replace(deployment, `"spec":{"selector"`, `"status":{"replicas":5},"spec":{"selector"`, 1))
		c.put(deployments+"/d/status", r.edit(func(o map[string]any) {
			child(o, "spec")["replicas"] = 9
			child(o, "status")["replicas"] = 2
			child(o, "metadata", "labels")["l"] = "1"
			child(o, "metadata", "annotations")["a"] = "1"
			child(o, "metadata")["finalizers"] = []string{"example.com/f"}
		}))
		c.get(deployments + "/d/status")
		c.put(deployments+"/d/status", `{"metadata":{"name":"d","resourceVersion":"1"}}`)
		c.patch(patchMerge, deployments+"/d/status", `{"metadata":{"finalizers":null}}`)
	}},
	{name: "the status of a ReplicaSet", play: func(c *client) {
		r := c.post(replicaSets, replicaSet)
		c.put(replicaSets+"/r/status", r.edit(func(o map[string]any) {
			child(o, "spec")["replicas"] = 9
			child(o, "status")["replicas"] = 2
			child(o, "metadata", "labels")["l"] = "1"
		}))
	}},
	{name: "the status of a Pod", play: func(c *client) {
		r := c.post(pods, pod)
		c.put(pods+"/p/status", r.edit(func(o map[string]any) {
			child(o, "status")["phase"] = "Running"
			child(o, "status")["podIP"] = "10.9.9.9"
			delete(child(o, "status"), "qosClass")
			child(o, "spec")["nodeName"] = "elsewhere"
			child(o, "metadata", "labels")["l"] = "1"
		}))
		c.put(pods+"/p", r.edit(func(o map[string]any) {
			delete(child(o, "metadata"), "resourceVersion")
			child(o, "status")["phase"] = "Failed"
		}))
	}},
	{name: "the status of custom resources", play: func(c *client) {
		r := c.post(widgets, widget)
		c.put(widgets+"/w/status", r.edit(func(o map[string]any) {
			child(o, "spec")["color"] = "blue"
			child(o, "status")["replicas"] = 2
			child(o, "metadata", "labels")["l"] = "1"
			o["other"] = 1
		}))
		c.get(widgets + "/w/status")
		c.patch(patchMerge, widgets+"/w/status", `{"status":null}`)
		c.put(widgets+"/w/status", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"status":{"x":1}}`)
		c.get(gadgets + "/{ns}/status")
	}},
	{name: "no status where there is none", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		c.get(configMaps + "/a/status")
		c.put(configMaps+"/a/status", `{"metadata":{"name":"a"}}`)
		c.put(deployments+"/nope/status", strings.Replace(deployment, `"d"`, `"nope"`, 1))
	}},
}
