// Package client compares our client with controller-runtime's, call by call: what is on the wire,
// what is in the objects afterwards, and which type of error is returned.
//
// The calls are in package calls, as a program writes them. Package ourcalls is the same text with
// other import paths. Package wire records. The tests run both on the real API server of an embedded
// cluster, and on the in-memory one.
package client
