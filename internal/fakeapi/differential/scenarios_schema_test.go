package differential

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const things = "/apis/example.com/v1/namespaces/{ns}/things"

// thing is a custom resource whose Go type the fake knows. The real server has
// a schema that says the same.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              thingSpec `json:"spec,omitempty"`
}

type thingSpec struct {
	Size   int               `json:"size,omitempty"`
	Color  *string           `json:"color,omitempty"`
	Parts  []part            `json:"parts,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

type part struct {
	Name string `json:"name,omitempty"`
}

// DeepCopyObject implements runtime.Object. An example is never copied.
func (t *thing) DeepCopyObject() runtime.Object { panic("an example was copied") }

const thingDefinition = `{"metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
 "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
 "size":{"type":"integer"},"color":{"type":"string"},"labels":{"type":"object","additionalProperties":{"type":"string"}},
 "parts":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}}}}}}}}]}}`

// unknown has fields that a thing does not have, at several depths.
const unknown = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"more":1,` +
	`"spec":{"size":1,"colour":"red","labels":{"any":"thing"},"parts":[{"name":"x"},{"nam":"y"}]}}`

var schemaScenarios = []scenario{
	{name: "unknown fields of custom resources are pruned", play: func(c *client) {
		c.post(things+"?fieldValidation=Strict", unknown)
		c.post(things, unknown)
		c.get(things + "/a")
		c.post(things+"?fieldValidation=Ignore", strings.Replace(unknown, `"a"`, `"b"`, 1))
		c.patch(patchMerge, things+"/a?fieldValidation=Ignore", `{"spec":{"shape":"round","color":"red"}}`)
		c.patch(patchMerge, things+"/a", `{"spec":{"shape":"round","color":"blue"}}`)
		r := c.silently(http.MethodPatch, things+"/a?fieldValidation=Strict", `{"spec":{"shape":"round"}}`, "Content-Type", patchMerge)
		c.note("%d %s", r.code, r.str("reason"))
	}},
	{name: "values that do not fit into a custom resource", play: func(c *client) {
		for _, spec := range []string{`{"size":"big"}`, `{"color":5}`, `{"parts":"none"}`, `5`} {
			r := c.silently(http.MethodPost, things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":`+spec+`}`)
			c.note("%d %s %s", r.code, r.str("reason"), r.str("details", "kind"))
		}
	}},
	{name: "options of a delete in the group of the resource", play: func(c *client) {
		c.post(configMaps, `{"metadata":{"name":"a"}}`)
		r := c.silently(http.MethodDelete, configMaps+"/a", `{"apiVersion":"no.such.group/v1","kind":"DeleteOptions"}`)
		c.note("%d %s", r.code, r.str("reason"))
		c.post(things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}}`)
		c.delete(things+"/a", `{"apiVersion":"example.com/v1","kind":"DeleteOptions","preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`)
		r = c.silently(http.MethodDelete, things+"/a", `{"apiVersion":"no.such.group/v1","kind":"DeleteOptions"}`)
		c.note("%d %s", r.code, r.str("reason"))
		c.delete(things+"/a", `{"apiVersion":"example.com/v1","kind":"DeleteOptions","propagationPolicy":"Background"}`)
	}},
	{name: "a token of a service account", play: func(c *client) {
		c.post(accounts, `{"metadata":{"name":"robot"}}`)
		request := func(name, spec string) {
			r := c.silently(http.MethodPost, accounts+"/"+name+"/token", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":`+spec+`}`)
			c.note("%d %s %s", r.code, r.str("kind"), r.str("reason"))
			s := child(r.body, "spec")
			c.note("%v %v %s %v %v", s["audiences"], s["expirationSeconds"], r.str("metadata", "name"), r.str("metadata", "creationTimestamp") != "", r.str("metadata", "uid") != "")
			c.note("%v %v", r.str("status", "token") != "", r.str("status", "expirationTimestamp") != "")
		}
		request("robot", `{"audiences":["me"]}`)
		request("robot", `{"audiences":["me"],"expirationSeconds":7200}`)
		request("robot", `{"audiences":["me"],"expirationSeconds":10}`)
		request("nobody", `{"audiences":["me"]}`)
		r := c.silently(http.MethodGet, accounts+"/robot/token", "")
		c.note("%d", r.code)
	}},
}
