// Bug: a strategy without limits gets one Pod that may be missing.
package deployment

import appsv1 "k8s.io/api/apps/v1"

func limitsOf(spec *appsv1.DeploymentSpec) limits {
	l := limits{desired: replicasOf(spec.Replicas)}
	if rolling := spec.Strategy.RollingUpdate; rolling != nil {
		l.surge = scaled(rolling.MaxSurge, l.desired, true)
		l.unavailable = scaled(rolling.MaxUnavailable, l.desired, false)
	}
	if l.surge == 0 && l.unavailable == 0 {
		l.unavailable = 1
	}
	l.unavailable = min(l.unavailable, l.desired)
	return l
}
