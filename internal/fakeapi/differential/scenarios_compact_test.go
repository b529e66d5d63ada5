package differential

import "net/http"

// compactingScenarios make the server forget. The real one is restarted for
// that, after which its controllers take their time to come back: these
// scenarios come last and need none.
var compactingScenarios = []scenario{
	{name: "a token too old", play: func(c *client) {
		threeLeases(c)
		page := leases + "?limit=2"
		r := c.lists(page)
		token := r.str("metadata", "continue")
		c.silently(http.MethodPost, leases, `{"metadata":{"name":"d"}}`)
		c.compact()
		expired := c.silently(http.MethodGet, page+"&continue="+token, "")
		c.note("%d %s, with a token: %v", expired.code, expired.str("reason"), expired.str("metadata", "continue") != "")
		rest := c.lists(page + "&continue=" + expired.str("metadata", "continue"))
		c.note("at a new version: %v", rest.rv() != r.rv())
	}},
	{name: "an exact version too old", play: func(c *client) {
		r := three(c)
		c.silently(http.MethodDelete, configMaps+"/a", "")
		path := configMaps + "?labelSelector=t&resourceVersionMatch=Exact&resourceVersion=" + r.rv()
		c.compact()
		x := c.silently(http.MethodGet, path, "")
		c.note("%d %s", x.code, x.str("reason"))
	}},
	{name: "a watch too old", play: func(c *client) {
		// The watch cache of a custom resource begins with its definition.
		c.compact()
		w := c.watch(configMaps + "?watch=1&resourceVersion=2")
		w.events(2)
	}},
}
