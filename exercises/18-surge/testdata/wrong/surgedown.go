// Bug: the surge is rounded down.
package deployment

import appsv1 "k8s.io/api/apps/v1"

func limitsOf(spec *appsv1.DeploymentSpec) limits {
	l := limits{desired: replicasOf(spec.Replicas)}
	rolling := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return l
	}
	l.surge = scaled(rolling.MaxSurge, l.desired, false)
	l.unavailable = scaled(rolling.MaxUnavailable, l.desired, false)
	if l.surge == 0 && l.unavailable == 0 {
		l.unavailable = 1
	}
	l.unavailable = min(l.unavailable, l.desired)
	return l
}
