// Package differential holds fakeapi to the real API server.
//
// It has no code of its own, only a test: scenarios are played to the fake, in
// a synctest bubble, and to an embedded kube-apiserver, and what the client
// sees must be the same. Data flow: scenario -> requests to both servers ->
// two transcripts, with names, times and versions made comparable -> equality.
// It stands on internal/fakeapi and cluster/clustertest; nothing stands on it.
package differential
