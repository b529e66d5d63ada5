// Package mini is a complete Kubernetes controller runtime, small enough to read whole,
// with the controllers that make a cluster a cluster: ReplicaSet, Deployment, Endpoints,
// the garbage collector, and the controllers of namespaces, Jobs, CronJobs, DaemonSets,
// StatefulSets and nodes.
//
// The course builds it, one file a chapter. A file compiles with the ones before it and
// doesn't need any later one:
//
//	part I    watching     listwatch  store  reflector  informer  shared
//	part II   queueing     queue  delay
//	part III  reconciling  controller  events  client  cache  first  lease  manager
//	                       finalizer  apply  webhook  defaulting  faults
//	part IV   controllers  owner  ranking  replicaset  template  rolling  scaling
//	                       deployment  endpoints  graph  garbage
//	part V    more         namespaceplan  namespace  jobplan  job  cronplan  cronjob
//	                       revision  placement  daemonplan  daemonset  identity
//	                       statefulplan  statefulset  nodehealth  tainteviction
//	                       nodelifecycle
//
// Data flow:
//
//	API server -> ListWatch -> Reflector -> SharedInformer (Store, then one queue for each
//	handler) -> Predicate -> EventHandler -> RetryQueue -> Controller -> Reconciler ->
//	CachedClient -> API server
//
// Neighbours: below are k8s.io/api, k8s.io/apimachinery, client-go's rest and discovery,
// and the flight recorder in package trace. The library of this module doesn't use mini;
// it's what mini looks like grown up.
package mini
