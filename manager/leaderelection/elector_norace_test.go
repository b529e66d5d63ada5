//go:build !race

package leaderelection

const underRaceDetector = false
