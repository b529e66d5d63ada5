// Package all makes all controllers of mini: those whose originals do not run in the cluster.
package all

import (
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/minis"
	"github.com/loopwright/loopwright/mini"
)

// Controllers returns the controllers whose originals are off in a cluster that was made with
// these Options.Originals, and the names of the originals. Two controllers of one kind would undo
// each other's work.
func Controllers(m *mini.Manager, originals []string) (all []*mini.Controller, names []string, err error) {
	for _, maker := range minis.Makers {
		off := slices.Equal(originals, []string{cluster.Bare}) || slices.Contains(originals, "-"+maker.Original)
		if slices.Contains(cluster.SampleControllers, maker.Original) {
			off = !slices.Contains(originals, maker.Original)
		}
		if !off {
			continue
		}
		made, err := maker.Make(m)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, made...)
		names = append(names, strings.TrimSuffix(maker.Original, "-controller"))
	}
	if len(all) == 0 {
		return nil, nil, errors.New("the cluster runs all of the originals")
	}
	return all, names, nil
}

// WithConditions returns the kinds that controllers of these names watch, and whose status says whether
// their objects are getting anywhere.
func WithConditions(names []string) []mini.Object {
	kinds := []mini.Object{&corev1.Pod{}} // all of them but cronjob and namespace watch Pods
	for name, kind := range map[string]mini.Object{
		"deployment": &appsv1.Deployment{}, "replicaset": &appsv1.ReplicaSet{}, "job": &batchv1.Job{},
		"node-lifecycle": &corev1.Node{},
	} {
		if slices.Contains(names, name) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Originals returns the names of the originals, by which kube-controller-manager and the probes know them,
// of controllers with these names.
func Originals(names []string) (originals []string) {
	for _, name := range names {
		originals = append(originals, name+"-controller")
	}
	return originals
}
