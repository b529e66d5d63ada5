// Package manager starts and stops the parts of a program in the right order: servers, caches,
// controllers, and any other runnable.
//
//	New   -> a cluster: client, cache, events
//	Add   -> each Runnable goes into one of seven groups
//	Start -> HTTP servers, webhooks, caches, others, warm-up, leader election, leader-elected
//	stop  -> the reverse order, each group when those after it have ended; then the last events
//
// The first runnable that fails stops the manager, and Start returns its error.
//
// # Where to start
//
// There are two dozen packages below this one. To write a controller, read these five first:
//
//   - reconcile has the contract of the one function that you write, and says what happens to a
//     request after each answer.
//   - builder wires that function to the objects that it watches, in three or four lines.
//   - client reads and writes objects. It explains why a read may be older than your last write.
//   - cache is where the client's reads come from. It says which watches your program opens.
//   - controller runs the workers. Its Options say how requests are retried, ordered and stopped.
//
// Then follow an event: package informer gets it from a watch, source brings it, predicate drops it
// or lets it pass, handler decides which objects to reconcile because of it, and workqueue keeps
// their names until a worker takes one. docs/architecture.md names the functions, under "How an
// event travels".
//
// # The files
//
// Each uses those above it, and none below:
//
//	runnable.go, options.go       what a program gives the manager
//	servers.go, own_cluster.go    what the manager brings along
//	group_order.go to groups.go   which runnable starts and stops next
//	election.go, shards.go        which replica may work
//	manager.go, start.go          all of it together
//
// # Neighbours
//
// Below it are cluster, leaderelection, healthz, the metrics server and the interface of a webhook
// server. It treats controllers like any other runnable. Above it is the builder, and the user's
// main.
package manager
