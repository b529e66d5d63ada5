// Package world is a small cluster in memory: an API server, three nodes, a scheduler, kubelets that
// play Pods, and mini's controllers, in one process and without a network. A page shows it, and a
// test can run hours of it in a synctest bubble.
//
//	w, err := world.New(world.Options{})
//	go w.Run(ctx)
//	err = w.Kubectl.Run(ctx, "create deployment web --image=web:1 --replicas=3", "", out)
//
// Data flow: a kubectl line or a button -> the API server (internal/fakeapi) -> watches -> mini's
// controllers, the scheduler, the kubelets -> the API server; and from its objects to State, which is
// what the page draws. Each process of mini has a flight recorder of its own.
//
// An image says what becomes of its Pod: web:1 is ready after a second and a half, web:slow takes
// five seconds longer, web:bad crashes and backs off, registry.invalid/web:1 never gets pulled. A Pod
// that isn't restarted does its work for three seconds, and ends.
//
// # Guarantees
//
// After Run has returned, no goroutine is left. A Pod's object goes only when its process has
// ended, or was never started.
//
// # Caveats
//
// The containers are played: there are no logs, no network and no exec. What a cluster has beside
// (service accounts, EndpointSlices, admission) is missing, so a Pod on a node that is lost is evicted
// as soon as the node gets its taint, where admission gives it 300 s.
//
// Neighbours: it stands on internal/fakeapi, mini and xray's step mode. Package kubectl is its
// prompt; the program playground puts both into a page.
package world
