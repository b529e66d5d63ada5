// Package takeover plays several processes that share their work (manager.Options.Sharding) on a real
// API server, and looks for two that are inside one object at the same time.
//
// It has no code of its own, only tests. Data flow: the test starts its own binary as a replica; the
// replica's reconciles report to the test that they begin and end, and wait for its answers; all
// requests to the API server go through the test, too, which can cut them off. The checker hears all
// of that in one order.
//
// Neighbours: it stands on manager and cluster/clustertest; nothing stands on it. manager plays the
// same in memory, and manager/sharding plays every order of events in a small world.
package takeover
