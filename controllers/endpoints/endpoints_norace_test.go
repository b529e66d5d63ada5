//go:build !race

package endpoints

const underRaceDetector = false
