package differential

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
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
