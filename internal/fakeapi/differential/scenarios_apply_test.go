package differential

import "strings"

var applyScenarios = []scenario{
	{name: "managedFields of create, update and status", play: func(c *client) {
		c.norm.managed = true
		r := c.post(configMaps+"?fieldManager=one", `{"metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"}}`)
		c.put(configMaps+"/a?fieldManager=two", r.edit(func(o map[string]any) { child(o, "data")["l"] = "w" }))
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":null}}`)
		c.post(replicaSets+"?fieldManager=one", replicaSet)
		c.patch(patchMerge, replicaSets+"/r/status?fieldManager=two", `{"status":{"replicas":1},"spec":{"replicas":5}}`)
	}},
	{name: "apply creates", play: func(c *client) {
		c.norm.managed = true
		c.patch(patchApply, configMaps+"/a?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.patch(patchApply, configMaps+"/a?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.patch(patchApply, deployments+"/d?fieldManager=one", strings.Replace(deployment, `{"metadata"`, `{"apiVersion":"apps/v1","kind":"Deployment","metadata"`, 1))
	}},
	{name: "apply takes away what it gave", play: func(c *client) {
		c.norm.managed = true
		c.patch(patchApply, configMaps+"/a?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v","l":"w"}}`)
		c.patch(patchMerge, configMaps+"/a?fieldManager=two", `{"data":{"m":"x"}}`)
		c.patch(patchApply, configMaps+"/a?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`)
	}},
	{name: "apply conflicts and force", play: func(c *client) {
		c.norm.managed = true
		one := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"}}`
		two := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"2"}}`
		c.patch(patchApply, configMaps+"/a?fieldManager=one", one)
		c.patch(patchApply, configMaps+"/a?fieldManager=two", two)
		c.patch(patchApply, configMaps+"/a?fieldManager=two&force=true", two)
		c.patch(patchMerge, configMaps+"/a?fieldManager=three", `{"data":{"k":"3"}}`)
		c.patch(patchApply, configMaps+"/a?fieldManager=one", one)
	}},
	{name: "apply needs a manager and a type", play: func(c *client) {
		c.patch(patchApply, configMaps+"/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		c.patch(patchMerge, configMaps+"/a?force=true", `{}`)
		c.patch(patchApply, configMaps+"/a?fieldManager=m", `{"metadata":{"name":"a"}}`)
		c.patch(patchApply, configMaps+"/a?fieldManager=m", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		c.patch(patchApply, configMaps+"/a?fieldManager=m", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{}]}}`)
		c.patch(patchApply, configMaps+"/a?fieldManager=m", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"00000000-0000-0000-0000-000000000000"}}`)
	}},
	{name: "a version in what is applied, or created by an update", play: func(c *client) {
		one := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"5"},"data":{"k":"1"}}`
		r := c.patch(patchApply, configMaps+"/a?fieldManager=one", one)
		c.patch(patchApply, configMaps+"/a?fieldManager=one", one)
		c.patch(patchApply, configMaps+"/a?fieldManager=one", strings.Replace(one, `"5"`, `"`+r.rv()+`"`, 1))
		c.patch(patchApply, widgets+"/w?fieldManager=one", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","resourceVersion":"5"}}`)
		c.patch(patchMerge, widgets+"/w", `{"metadata":{"resourceVersion":null},"spec":{"color":"blue"}}`)
		c.put(leases+"/l", `{"metadata":{"name":"l","resourceVersion":"5"}}`)
		c.put("/api/v1/namespaces/{ns}/limitranges/l", `{"metadata":{"name":"l"},"spec":{"limits":null}}`)
		c.post(configMaps, `{"metadata":{"name":"b","resourceVersion":"5"}}`)
	}},
	{name: "numbers that were applied to a custom resource", play: func(c *client) {
		c.patch(patchApply, widgets+"/w?fieldManager=one", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"replicas":3,"ratio":0.5}}`)
		c.get(widgets + "/w/scale")
		c.patch(patchMerge, widgets+"/w?fieldManager=one", `{"spec":{"replicas":3,"ratio":0.5}}`)
		c.patch(patchApply, widgets+"/w?fieldManager=one", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"replicas":3,"ratio":0.5}}`)
		c.get(widgets + "/w")
	}},
	{name: "apply to custom resources", play: func(c *client) {
		w := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"%","list":[1,2]}}`
		c.patch(patchApply, widgets+"/w?fieldManager=one", strings.Replace(w, "%", "red", 1))
		c.patch(patchApply, widgets+"/w?fieldManager=two", strings.Replace(w, "%", "blue", 1))
		c.patch(patchApply, widgets+"/w/status?fieldManager=ctl", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"status":{"replicas":1}}`)
	}},
	{name: "apply to a status", play: func(c *client) {
		c.norm.managed = true
		c.post(replicaSets+"?fieldManager=one", replicaSet)
		c.patch(patchApply, replicaSets+"/r/status?fieldManager=ctl", `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"status":{"replicas":1,"observedGeneration":1}}`)
		c.patch(patchApply, replicaSets+"/nope/status?fieldManager=ctl", `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"nope"},"status":{"replicas":1}}`)
	}},
	{name: "apply merges lists by key", play: func(c *client) {
		c.post(deployments+"?fieldManager=one", deployment)
		c.patch(patchApply, deployments+"/d?fieldManager=two", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}`)
		c.patch(patchApply, deployments+"/d?fieldManager=two", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}}`)
	}},
	{name: "managedFields can be cleared", play: func(c *client) {
		c.norm.managed = true
		c.post(configMaps+"?fieldManager=one", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.patch(patchMerge, configMaps+"/a?fieldManager=two", `{"metadata":{"managedFields":[{}]}}`)
	}},
}
