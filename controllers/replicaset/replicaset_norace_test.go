//go:build !race

package replicaset

const underRaceDetector = false
