// Package mini is a complete Kubernetes controller runtime, small enough to read whole,
// with the controllers that make a cluster a cluster: ReplicaSet, Deployment, Endpoints,
// the garbage collector, and those of namespaces, Jobs, CronJobs, DaemonSets, StatefulSets
// and nodes.
//
// It is the body of the course. Each chapter adds a file, which compiles with the files
// before it and with no others:
//
//	part I    watching     listwatch  store  reflector  informer  shared
//	part II   queueing     queue  delay
//	part III  reconciling  controller  events  client  cache  first  lease  manager
//	                       finalizer  webhook
//	part IV   controllers  owner  ranking  replicaset  template  rolling  scaling
//	                       deployment  endpoints  graph  garbage
//	part V    more         namespace  jobplan  job  cronjob  revision  placement
//	                       daemonset  statefulset  tainteviction  nodelifecycle
//
// Data flow:
//
//	API server -> ListWatch -> Reflector -> SharedInformer (Store, then one queue for each
//	handler) -> Predicate -> EventHandler -> RetryQueue -> Controller -> Reconciler ->
//	CachedClient -> API server
//
// Neighbours: it stands on k8s.io/api, k8s.io/apimachinery, client-go's rest and the
// flight recorder in package trace. The library of this module does not use it; it is
// what mini looks like when it has grown up.
package mini
