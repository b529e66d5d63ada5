// Package hostile is everything that may stand between a client and an API server, and answers in
// its place: load balancers, login pages, stale replicas, proxies that cut an answer short.
//
// A Network is an http.Handler in front of another one. Without an Attack it passes everything on.
//
//	client -> Network -> attacks -> the in-memory server, or a reverse proxy to a real one
//
// Its tests play every fault against every component: docs/hostile-network.md has the table. Where
// a cell of it fails, this runs it alone:
//
//	go test ./internal/tests/hostile -run 'TestHostileNetwork/replicaset/html404/list/10s'
//
// Neighbours: below it is internal/fakeapi, which says what a request is about. Above it are tests.
package hostile
