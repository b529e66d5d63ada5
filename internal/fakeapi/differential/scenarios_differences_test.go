package differential

import (
	"net/http"
	"strings"
)

// differenceScenarios prove the table of differences in fakeapi's package
// comment: each of them shows something that the fake does otherwise, and
// fails when it no longer does.
var differenceScenarios = []scenario{
	{name: "admission plugins give pods more than was asked for", differs: "no admission plugins", play: func(c *client) {
		r := c.silently(http.MethodPost, pods, pod)
		for _, key := range []string{"tolerations", "priority", "preemptionPolicy"} {
			c.note("%s: %v", key, child(r.body, "spec")[key] != nil)
		}
	}},
	{name: "Services get addresses", differs: "no allocation", play: func(c *client) {
		r := c.silently(http.MethodPost, services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`)
		c.note("%v", r.str("spec", "clusterIP") != "")
	}},
	{name: "the API of CustomResourceDefinitions", differs: "kinds are registered from Go", play: func(c *client) {
		r := c.silently(http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com", "")
		c.note("%d", r.code)
	}},
	{name: "the schema of custom resources", differs: "no schema", play: func(c *client) {
		r := c.silently(http.MethodPost, widgets, strings.Replace(widget, `"red"`, `5`, 1))
		c.note("%d", r.code)
	}},
	{name: "field ownership of custom resources", differs: "without a schema a map that was applied is owned itself, not only its fields", play: func(c *client) {
		c.norm.managed = true
		c.patch(patchApply, widgets+"/w?fieldManager=one", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"red"}}`)
	}},
	{name: "core Events are Events of events.k8s.io", differs: "one version of each kind", play: func(c *client) {
		c.silently(http.MethodPost, "/api/v1/namespaces/{ns}/events", `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"{ns}","name":"p"},"reason":"r","type":"Normal"}`)
		r := c.silently(http.MethodGet, "/apis/events.k8s.io/v1/namespaces/{ns}/events/e", "")
		c.note("%d", r.code)
	}},
	{name: "groups that few controllers need", differs: "only the kinds in builtins()", play: func(c *client) {
		c.note("%d", c.silently(http.MethodGet, "/apis/autoscaling/v2", "").code)
	}},
	{name: "defaults of a DaemonSet", differs: "no deprecated annotation with the generation of the template", play: func(c *client) {
		// A node selector that no node meets keeps the real controller quiet.
		none := strings.Replace(template, `{"schedulerName"`, `{"nodeSelector":{"no":"node"},"schedulerName"`, 1)
		c.post("/apis/apps/v1/namespaces/{ns}/daemonsets", `{"metadata":{"name":"s"},"spec":{"selector":{"matchLabels":{"app":"x"}},"template":`+none+`}}`)
	}},
	{name: "validation of the depths of a spec", differs: "the spec is believed", play: func(c *client) {
		r := c.silently(http.MethodPost, pods, strings.Replace(pod, `"img:1"`, `"img:1","ports":[{"containerPort":99999}]`, 1))
		c.note("%d", r.code)
	}},
	{name: "the wording of a missing owner UID", differs: "messages of apimachinery 0.37", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p"}]}}`)
	}},
	{name: "empty lists of built-in kinds", differs: "no storage that turns [] into null", play: func(c *client) {
		c.post(slicesPath, `{"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[]}`)
	}},
	{name: "what controllers put into a namespace", differs: "no controllers", play: func(c *client) {
		r := c.silently(http.MethodGet, configMaps+"/kube-root-ca.crt", "")
		c.note("%d", r.code)
	}},
	{name: "tables and aggregated discovery", differs: "plain JSON only", play: func(c *client) {
		r := c.silently(http.MethodGet, configMaps, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json")
		c.note("%s", r.str("kind"))
		r = c.silently(http.MethodGet, "/apis", "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
		c.note("%s", r.str("kind"))
	}},
	{name: "OpenAPI", differs: "not served", play: func(c *client) {
		c.note("%d", c.silently(http.MethodGet, "/openapi/v3", "").code)
	}},
	{name: "the old path of watches", differs: "not served", play: func(c *client) {
		c.note("%d", c.silently(http.MethodGet, "/api/v1/watch/namespaces/{ns}/secrets?timeoutSeconds=1", "").code)
	}},
	{name: "resizing a pod", differs: "not served", play: func(c *client) {
		c.silently(http.MethodPost, pods, pod)
		c.note("%d", c.silently(http.MethodGet, pods+"/p/resize", "").code)
	}},
	{name: "headers of audit and fairness", differs: "neither of them", play: func(c *client) {
		r := c.silently(http.MethodGet, configMaps, "")
		c.note("%v %v", r.head.Get("Audit-Id") != "", r.head.Get("X-Kubernetes-Pf-Flowschema-Uid") != "")
	}},
}
