//go:build race

package replicaset

// The race detector makes a test many times slower.
const underRaceDetector = true
