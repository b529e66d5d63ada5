//go:build race

package deployment

// The race detector makes a test several times slower.
const underRaceDetector = true
