//go:build !race

package fakeapi_test

const raceEnabled = false
