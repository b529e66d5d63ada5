// Package fakeapi is an in-memory Kubernetes API server for tests that must
// give the same result every time.
//
// It speaks the real protocol, so any client of a cluster can use it: discovery, create, get, list
// in pages, watch, WatchList, bookmarks, update, the four patches, delete, status, scale, binding,
// eviction and token, in JSON, YAML and protobuf. Any kind can be registered. Its connections are
// in-memory pipes, so a server and all its clients run inside one testing/synctest bubble, where an
// hour of watching passes in a fraction of a second. Faults are injected on demand.
//
// Data flow: HTTP request -> route -> faults -> negotiate -> decode -> rules
// (create, update, delete: what is stored next) -> store (the objects and
// their history) -> encode, or for a watch: history -> selection -> frames.
// The rules and the store are pure: they know no clock, lock or goroutine.
//
// Neighbours: it stands on k8s.io/api, apimachinery and client-go's scheme.
// Tests of every other package stand on it, and so does manager/client/fake,
// which goes through Server.Transport: without connections and goroutines.
// Package internal/fakeapi/differential holds it to the real server, scenario
// by scenario.
//
//	server := fakeapi.New(fakeapi.Options{})
//	defer server.Close()
//	client, err := kubernetes.NewForConfig(server.Config())
//
// # Guarantees
//
// Every write takes the next number of one resourceVersion counter. A list
// shows one moment, on all its pages. A watch sends every change after its
// version, in order, once; or it ends. The answers of two servers with the
// same seed to the same sequence of requests are the same, except for times
// outside of a bubble. After Close no goroutine is left.
//
// # Caveats
//
// Concurrent requests are served in the order in which their goroutines run, and faults with a
// probability hit them in that order. The log of requests grows until ForgetRequests.
//
// # Differences
//
// Where the fake differs from kube-apiserver 1.36 on purpose:
//
//	authentication, authorization    none: every request is an administrator's
//	admission plugins, webhooks      none, except the rules of namespaces; so pods get no service account,
//	                                 priority, default tolerations or token volume
//	CustomResourceDefinitions        registered from Go, not through the API. Kind.Example is a schema that only
//	                                 prunes and checks types; without it nothing but metadata is validated.
//	                                 Field ownership is deduced, unless Options.TypeConverters know better, so
//	                                 that an applied map is owned itself and lists are atomic
//	versions of a kind               no conversion: each has objects of its own, so events.k8s.io and core events
//	                                 do not share storage. autoscaling and other groups not in builtins() are not
//	                                 served unless they are registered
//	defaults                         those of core, apps, batch and discovery that controllers read; not those of
//	                                 volumes, of kinds without a pod template, nor the DaemonSet's annotation
//	                                 with the generation of its template
//	validation                       metadata in full, selectors, containers' names and images, what may change
//	                                 in a Pod, a StatefulSet and a binding, ports of Services, rules of roles,
//	                                 keys and size of data; the rest of a spec is believed. Messages are those
//	                                 of apimachinery 0.37, which words some of them in a new way
//	allocation                       no cluster IPs, node ports or IP families
//	empty lists                      [] stays [], where the real server's storage turns some into null
//	namespaces                       terminate forever unless Options.FinalizeNamespaces plays the controller,
//	                                 at once where the real one takes seconds
//	other controllers                none: nothing is collected, scheduled, counted or created in namespaces
//	history                          counted in changes of a resource, not in time, and no etcd behind it: what a
//	                                 watch has forgotten, an exact list has forgotten too
//	bookmarks                        carry the newest version of the whole server, and come on the minute
//	shards of Events                 a watch has only those of its shard, as from 1.37 on; 1.36 ignores the
//	                                 selector of a watch where it has no watch cache
//	tables, aggregated discovery,    not offered; clients fall back to plain JSON
//	OpenAPI, CBOR
//	legacy paths, websockets         no /api/v1/watch/...; no exec, attach, port-forward, logs, proxy
//	pods/resize, ephemeralcontainers not served
//	deletecollection                 deletes in order and stops at the first error, with one worker
//	requests in flight, audit        no priority and fairness, no audit headers
//	faults                           DropEvents and Stale can break promises that no real server breaks
package fakeapi
