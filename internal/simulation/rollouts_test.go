package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// deployment wants replicas Pods, one more and one less allowed.
func (h history) deployment(replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: podLabels},
			Template: template("new"),
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(1)),
				},
			},
		},
	}
	h.Create(d)
	return d
}

func (h history) available(rs *appsv1.ReplicaSet, pods int32) {
	EditStatus(h.World, rs, func(rs *appsv1.ReplicaSet) {
		rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = pods, pods, pods
	})
}

func TestTheJudgeOfRolloutsSeesEachBrokenPromise(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(h history)
		breaks  []Promise
	}{
		"the surge": {func(h history) {
			d := h.deployment(3)
			h.set("old", 3, d)
			h.set("new", 1, d)
		}, nil},
		"more than the surge": {func(h history) {
			d := h.deployment(3)
			h.set("old", 3, d)
			h.set("new", 2, d)
		}, []Promise{NeverMore}},
		"more than the surge, which a user has done": {func(h history) {
			d := h.deployment(3)
			rs := h.set("old", 3, d)
			h.scale(rs, 5)
			h.UserScaled(rs)
		}, nil},
		"as few as are allowed": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 3)
			h.scale(rs, 2)
		}, nil},
		"too few": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 3)
			h.scale(rs, 1)
		}, []Promise{NeverFewer}},
		"fewer of those that aren't available": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 1)
			h.scale(rs, 1)
		}, nil},
		"too few because others failed": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 2)
			h.UserMoves(1, 0)
			h.scale(rs, 1)
		}, nil},
		"a second ReplicaSet for one template": {func(h history) {
			d := h.deployment(3)
			rs := h.set("new", 0, d)
			again := rs.DeepCopy()
			again.ObjectMeta = metav1.ObjectMeta{
				Namespace: "default", Name: "again", OwnerReferences: rs.OwnerReferences,
			}
			h.Create(again)
		}, []Promise{NotTwice}},
		"more than the surge, after a user has done so": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.scale(rs, 5)
			h.UserScaled(rs)
			h.scale(rs, 6)
		}, []Promise{NeverMore}},
		"more than the surge, because a user brought Pods": {func(h history) {
			d := h.deployment(3)
			h.set("old", 3, d)
			h.UserMoves(0, 1)
			h.set("new", 2, d)
		}, nil},
		"more than the surge, long after a user brought Pods": {func(h history) {
			d := h.deployment(3)
			h.set("old", 3, d)
			h.UserMoves(0, 1)
			time.Sleep(Memory)
			h.set("new", 2, d)
		}, []Promise{NeverMore}},
		"fewer, but more than the surge as before": {func(h history) {
			rs := h.set("old", 4, h.deployment(3))
			h.scale(rs, 8)
			h.UserScaled(rs)
			h.scale(rs, 6)
		}, nil},
		"a ReplicaSet in place of one that was deleted": {func(h history) {
			d := h.deployment(3)
			h.delete(h.set("new", 3, d))
			h.set("new", 3, d)
		}, nil},
		"a ReplicaSet that belongs to something else": {func(h history) {
			h.set("old", 9, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "x"}})
		}, nil},
		"a ReplicaSet of nobody": {func(h history) { h.set("old", 9, nil) }, nil},
		"fewer available, because Pods failed": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 3)
			h.available(rs, 1)
		}, nil},
		"too few, though others failed": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 3)
			h.UserMoves(1, 0)
			h.scale(rs, 0)
		}, []Promise{NeverFewer}},
		"too few, because the Pods of a user have a share": {func(h history) {
			rs := h.set("old", 3, h.deployment(3))
			h.available(rs, 3)
			h.UserMoves(0, 1)
			h.scale(rs, 1)
		}, nil},
		"too few, because a user scales the rollout": {func(h history) {
			d := h.deployment(3)
			rs := h.set("old", 3, d)
			h.available(rs, 3)
			Edit(h.World, d, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(6)) })
			h.scale(rs, 1)
		}, nil},
		"too few, because a user pauses a rollout with too many": {func(h history) {
			h.pausedWith(2)
		}, nil},
		"too few in a rollout that a user pauses": {func(h history) {
			h.pausedWith(1)
		}, []Promise{NeverFewer}},
		"too few in a rollout with too many": {func(h history) {
			d := h.deployment(3)
			h.tooFew(d, 2)
		}, []Promise{NeverFewer}},
		"too few, because an adopted ReplicaSet isn't sized yet": {func(h history) {
			h.sized("3", "", 1)
		}, nil},
		"too few, because a ReplicaSet has the size of before": {func(h history) {
			h.sized("3", "4", 1)
		}, nil},
		"too few, and all are sized": {func(h history) {
			h.sized("3", "3", 1)
		}, []Promise{NeverFewer}},
		"too few, and what has the size of before has no Pods": {func(h history) {
			h.sized("3", "4", 0)
		}, []Promise{NeverFewer}},
		"too few, because the write also notes the size": {func(h history) {
			old := h.set("old", 3, h.deployment(3))
			h.notes(old, "4")
			h.available(old, 3)
			time.Sleep(Memory)
			Edit(h.World, old, func(rs *appsv1.ReplicaSet) {
				rs.Annotations["deployment.kubernetes.io/desired-replicas"] = "3"
				rs.Spec.Replicas = new(int32(1))
			})
		}, nil},
		"a ReplicaSet for the template of another Deployment": {func(h history) {
			d := h.deployment(3)
			rs := h.set("new", 1, d)
			h.delete(d)
			again := rs.DeepCopy()
			again.ObjectMeta = metav1.ObjectMeta{
				Namespace: "default", Name: "again", OwnerReferences: refTo(h.deployment(3)),
			}
			h.Create(again)
		}, nil},
		"a ReplicaSet for the same template that a user made": {func(h history) {
			d := h.deployment(3)
			h.set("mine", 1, d)
			rs := h.set("yours", 0, nil)
			Edit(h.World, rs, func(rs *appsv1.ReplicaSet) {
				rs.OwnerReferences = refTo(d)
				rs.Spec.Template = template("mine")
			})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).JudgeSizes, c.happens))
		})
	}
}

// pausedWith lets a user pause a rollout whose new ReplicaSet has some Pods, which aren't available.
func (h history) pausedWith(pods int32) {
	d := h.deployment(3)
	Edit(h.World, d, func(d *appsv1.Deployment) { d.Spec.Paused = true })
	Edit(h.World, d, func(d *appsv1.Deployment) { d.Spec.Paused = false })
	h.tooFew(d, pods)
}

// tooFew lets the old ReplicaSet shrink from three to one, while the new one has some Pods, which
// aren't available.
func (h history) tooFew(d *appsv1.Deployment, pods int32) {
	old := h.set("old", 3, d)
	h.available(old, 3)
	rs := h.set("new", 0, d)
	h.scale(rs, pods)
	h.UserScaled(rs)
	h.scale(old, 1)
}

// sized shrinks one of two ReplicaSets, which have these replicas of their Deployment noted. The other
// one has some Pods, or none.
func (h history) sized(noted, other string, pods int32) {
	d := h.deployment(3)
	old := h.set("old", 3, d)
	h.notes(old, noted)
	h.available(old, 3)
	h.notes(h.set("other", pods, d), other)
	time.Sleep(Memory)
	h.scale(old, 1)
}

// notes writes down how many replicas the Deployment wants, or that nothing is known, if it's "".
func (h history) notes(rs *appsv1.ReplicaSet, replicas string) {
	Edit(h.World, rs, func(rs *appsv1.ReplicaSet) {
		rs.Annotations = map[string]string{}
		if replicas != "" {
			rs.Annotations["deployment.kubernetes.io/desired-replicas"] = replicas
		}
	})
}

func TestTheJudgeKnowsTheSurgeAndTheUnavailability(t *testing.T) {
	rolling := func(replicas int32, surge, unavailable string) appsv1.DeploymentSpec {
		return appsv1.DeploymentSpec{Replicas: &replicas, Strategy: appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable)),
			},
		}}
	}
	recreate := rolling(4, "1", "1")
	recreate.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	for name, c := range map[string]struct {
		spec        appsv1.DeploymentSpec
		most, least int32
	}{
		"numbers":               {rolling(4, "2", "1"), 6, 3},
		"percentages":           {rolling(5, "25%", "25%"), 7, 4},
		"no surge":              {rolling(4, "0", "1"), 4, 3},
		"none unavailable":      {rolling(4, "1", "0"), 5, 4},
		"neither, so it's one":  {rolling(4, "0", "0"), 4, 3},
		"all may be missing":    {rolling(2, "0", "5"), 2, 0},
		"Recreate, which stops": {recreate, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			most, least := fenceposts(&c.spec)
			require.Equal(t, c.most, most)
			require.Equal(t, c.least, least)
		})
	}
}

func TestTheJudgeAllowsWhatWasAllowedLately(t *testing.T) {
	now := time.Now()
	var states History[*appsv1.Deployment]
	add := func(ago time.Duration, replicas int32, paused bool) {
		states.Add(now.Add(-ago), &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Paused: paused, Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(1)),
				},
			},
		}})
	}
	add(2*Memory, 5, false)
	require.Equal(t, allowance{most: 6, least: 4}, allowedLately(states, now))
	add(Memory/2, 9, true)
	add(Memory/3, 2, false)
	add(Memory/4, 5, false)
	require.Equal(t, allowance{most: 10, least: 1, changed: true, paused: true},
		allowedLately(states, now))
	require.Equal(t, allowance{most: 6, least: 4}, allowedLately(states, now.Add(Memory)))
}

// The controller adds a label to the template of its ReplicaSets. Otherwise no two templates would be the
// same.
func TestATemplateIsTheSameWithTheLabelOfItsHash(t *testing.T) {
	plain, hashed, other := template("web"), template("web"), template("web")
	hashed.Labels = map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: "x"}
	other.Labels = map[string]string{"app": "other"}
	require.True(t, SameTemplate(&plain, &hashed))
	require.True(t, SameTemplate(&hashed, &plain))
	require.False(t, SameTemplate(&plain, &other))
	require.Contains(t, hashed.Labels, appsv1.DefaultDeploymentUniqueLabelKey, "it's left as it was")
}

func TestTheJudgeSeesADeploymentThatIsNotDone(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(h history)
		breaks  []Promise
	}{
		"a rollout that has ended": {func(h history) {
			d := h.rolledOut(2)
			h.set("new", 2, d)
			h.set("old", 0, d)
		}, nil},
		"a rollout that has stopped halfway": {func(h history) {
			d := h.rolledOut(2)
			h.set("new", 2, d)
			h.set("old", 1, d)
		}, []Promise{ActedOn}},
		"too few Pods": {func(h history) {
			h.set("new", 1, h.rolledOut(2))
		}, []Promise{ActedOn}},
		"too many Pods": {func(h history) {
			h.set("new", 3, h.rolledOut(2))
		}, []Promise{ActedOn}},
		"too few Pods of its template": {func(h history) {
			h.set("old", 2, h.rolledOut(2))
		}, []Promise{ActedOn}},
		"Pods that aren't its own": {func(h history) {
			d := h.rolledOut(2)
			h.set("new", 2, d)
			h.set("old", 1, nil)
		}, nil},
		"a status of an old spec": {func(h history) {
			h.set("new", 2, h.deployment(2))
		}, []Promise{ActedOn}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).DeploymentsAreDone, c.happens))
		})
	}
}

// rolledOut makes a Deployment whose status is of its spec.
func (h history) rolledOut(replicas int32) *appsv1.Deployment {
	d := h.deployment(replicas)
	EditStatus(h.World, d, func(d *appsv1.Deployment) { d.Status.ObservedGeneration = d.Generation })
	return d
}
