// Bug: if both limits come out as zero, nothing can ever move.
package deployment

import appsv1 "k8s.io/api/apps/v1"

func limitsOf(spec *appsv1.DeploymentSpec) limits {
	l := limits{desired: replicasOf(spec.Replicas)}
	rolling := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return l
	}
	l.surge = scaled(rolling.MaxSurge, l.desired, true)
	l.unavailable = scaled(rolling.MaxUnavailable, l.desired, false)
	l.unavailable = min(l.unavailable, l.desired)
	return l
}
