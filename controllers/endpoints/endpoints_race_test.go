//go:build race

package endpoints

// The race detector makes a test many times slower.
const underRaceDetector = true
