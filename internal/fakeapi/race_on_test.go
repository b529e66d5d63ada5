//go:build race

package fakeapi_test

// raceEnabled: under the race detector everything takes about ten times as
// long, so limits of real time do not apply.
const raceEnabled = true
