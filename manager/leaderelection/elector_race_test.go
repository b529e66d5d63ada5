//go:build race

package leaderelection

// The race detector makes a test many times slower.
const underRaceDetector = true
