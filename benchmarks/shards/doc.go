// Package shards measures replicas that share their work (manager.Options.Sharding): 1, 2 and 4
// processes, on an embedded API server with the gate ShardedListAndWatch and on one without it.
//
// Data flow: Measure fills the API server and starts its own program once for each replica; a replica
// reports every quarter of a second, on its standard output, what it has reconciled and what that
// has cost; Measure makes a Row of that, and Table a table of all rows.
//
// It stands on manager and cluster; cmd/shards is its command.
package shards
