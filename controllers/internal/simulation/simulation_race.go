//go:build race

package simulation

// The race detector makes a test many times slower.
const underRaceDetector = true
