//go:build !race

package deployment

const underRaceDetector = false
