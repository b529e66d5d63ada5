//go:build !race

package simulation

const underRaceDetector = false
