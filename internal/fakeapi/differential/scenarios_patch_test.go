package differential

import (
	"net/http"
)

var patchScenarios = []scenario{
	{name: "JSON patches", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		c.patch(patchJSON, configMaps+"/a", `[{"op":"add","path":"/data/l","value":"w"},{"op":"remove","path":"/data/k"}]`)
		c.patch(patchJSON, configMaps+"/a", `[{"op":"test","path":"/data/l","value":"w"},{"op":"replace","path":"/data/l","value":"x"}]`)
		c.patch(patchJSON, configMaps+"/a", `[{"op":"test","path":"/data/l","value":"nope"}]`)
		c.patch(patchJSON, configMaps+"/a", `[{"op":"remove","path":"/data/nope"}]`)
		c.patch(patchJSON, configMaps+"/a", `[{"op":"replace","path":"/metadata/name","value":"b"}]`)
	}},
	{name: "merge patches", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"},"data":{"k":"v","l":"w"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"k":null,"m":"x"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"data":{"m":"x"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"resourceVersion":"1"},"data":{"n":"y"}}`)
		c.patch(patchMerge, configMaps+"/a", `{"metadata":{"uid":"other"}}`)
		c.patch(patchMerge, configMaps+"/nope", `{"data":{"n":"y"}}`)
	}},
	{name: "strategic merge patches", play: func(c *client) {
		c.post(deployments, deployment)
		c.patch(patchStrategic, deployments+"/d", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"img:2"},{"name":"e","image":"img:3"}]}}}}`)
		c.patch(patchStrategic, deployments+"/d", `{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}}}`)
		c.patch(patchStrategic, deployments+"/d", `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`)
		c.patch(patchMerge, deployments+"/d", `{"spec":{"template":{"spec":{"containers":[{"name":"z","image":"img:9"}]}}}}`)
	}},
	{name: "strategic merge patches need a Go type", play: func(c *client) {
		c.post(widgets, widget)
		r := c.patch(patchStrategic, widgets+"/w", `{"spec":{"color":"blue"}}`)
		_ = r
	}},
	{name: "patches that are not patches", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		r := c.silently(http.MethodPatch, configMaps+"/a", `{}`, "Content-Type", "text/plain")
		c.note("%d %s", r.code, r.str("reason"))
		for _, kind := range []string{patchJSON, patchMerge, patchStrategic, patchApply} {
			r := c.silently(http.MethodPatch, configMaps+"/a?fieldManager=m", `{"`, "Content-Type", kind)
			c.note("%s: %d %s", kind, r.code, r.str("reason"))
		}
		r = c.silently(http.MethodPatch, configMaps+"/a", `{"data":5}`, "Content-Type", patchMerge)
		c.note("%d %s", r.code, r.str("reason"))
	}},
	{name: "patches of custom resources", play: func(c *client) {
		c.post(widgets, widget)
		c.patch(patchMerge, widgets+"/w", `{"spec":{"color":null,"list":[1,2]}}`)
		c.patch(patchJSON, widgets+"/w", `[{"op":"add","path":"/spec/list/-","value":3}]`)
		c.patch(patchMerge, widgets+"/w", `{"metadata":{"finalizers":["example.com/f"]}}`)
		c.patch(patchMerge, widgets+"/w", `{"metadata":{"finalizers":null}}`)
	}},
	{name: "unknown fields in patches", play: func(c *client) {
		c.post(deployments, deployment)
		c.patch(patchMerge, deployments+"/d", `{"spec":{"bogus":1,"replicas":2}}`)
		c.patch(patchMerge, deployments+"/d?fieldValidation=Ignore", `{"spec":{"bogus":1,"replicas":3}}`)
		r := c.silently(http.MethodPatch, deployments+"/d?fieldValidation=Strict", `{"spec":{"bogus":1,"replicas":4}}`, "Content-Type", patchMerge)
		c.note("%d %s", r.code, r.str("reason"))
	}},
}
