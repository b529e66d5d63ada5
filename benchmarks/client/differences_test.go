package client

// differences are the calls in which the two clients differ, and why they may.
var differences = map[string]string{
	"Get: without a namespace, metadata": "ours refuses before it asks, as both do for objects of other forms",
	"Get: metadata without a kind":       "ours says that the kind is missing, and not that the server has no such kind",
	"List: by no selector": "a selector that is nil selects nothing. There its text, which is empty, goes on the wire, " +
		"and the server returns all objects; ours returns none",
	"Create: with options as a struct, typed":        dryRun,
	"Create: with options as a struct, unstructured": dryRun,
	"Patch: without a namespace, typed":              noNamespace,
	"Patch: without a namespace, unstructured":       noNamespace,
	"Patch: without a namespace, metadata":           noNamespace,
	"Apply: without a namespace":                     noNamespace,
	"Apply: without a namespace, unstructured":       noNamespace,
	"Status: patch without a namespace":              noNamespace,
	"Status: apply without a namespace":              noNamespace,
	"Apply: after an unstructured read": "the Accept header. There a typed configuration is sent on the connection of unstructured " +
		"objects, if one of the kind was used before. Other calls here have a new client each",
	"Status: apply with a body":          "the answer goes into the body here; there it goes into the object's configuration",
	"SubResource: patch scale, metadata": "there the request is sent, and then its answer cannot be decoded",
}

const dryRun = "DryRun in the field Raw counts here. There it is overwritten, and the object is created after all"

const noNamespace = "ours says that the namespace is missing, and asks nothing, as both do for a Get, an Update and a Delete. " +
	"There the request is sent, and the server's 404 does not say why"
