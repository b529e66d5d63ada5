package picture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/inorder"
)

func deployment(name string, wanted, updated, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "deployment", Generation: 3},
		Spec:       appsv1.DeploymentSpec{Replicas: &wanted},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: wanted, UpdatedReplicas: updated, ReadyReplicas: ready, AvailableReplicas: ready},
	}
}

// set is a ReplicaSet of that Deployment: wanted, there, ready and available.
func set(revision int, wanted, pods, ready, available int32) *appsv1.ReplicaSet {
	hash := fmt.Sprintf("5d4f8c7b%d", revision)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-" + hash, UID: types.UID(hash), Labels: map[string]string{"pod-template-hash": hash},
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(revision)},
			OwnerReferences: []metav1.OwnerReference{{UID: "deployment", Controller: new(true)}},
		},
		Spec:   appsv1.ReplicaSetSpec{Replicas: &wanted},
		Status: appsv1.ReplicaSetStatus{Replicas: pods, ReadyReplicas: ready, AvailableReplicas: available},
	}
}

func endpoints(name string, ready, notReady int) *corev1.Endpoints {
	addresses := func(from, to int) (all []corev1.EndpointAddress) {
		for i := range to - from {
			all = append(all, corev1.EndpointAddress{IP: fmt.Sprintf("10.0.0.%d", from+i)})
		}
		return all
	}
	return &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}, Subsets: []corev1.EndpointSubset{
		{Addresses: addresses(0, ready), NotReadyAddresses: addresses(ready, ready+notReady)},
		{Addresses: addresses(0, ready), Ports: []corev1.EndpointPort{{Port: 9090}}}, // the same Pods, with another port
	}}
}

func happened(kind, about, reason, note string) *eventsv1.Event {
	return &eventsv1.Event{Regarding: corev1.ObjectReference{Kind: kind, UID: types.UID(about)}, Reason: reason, Note: note}
}

// badUpdate is a rollout that cannot go on.
func badUpdate() *Picture {
	p := New("web")
	d := deployment("web", 10, 5, 8)
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Progressing", Status: "False", Reason: "ProgressDeadlineExceeded"}}
	for _, o := range []metav1.Object{
		d, set(1, 0, 0, 0, 0), set(2, 8, 8, 8, 8), set(3, 5, 5, 0, 0), endpoints("web", 8, 5),
		endpoints("another", 1, 1), deployment("another", 1, 1, 1),
		happened("Deployment", "deployment", "ScalingReplicaSet", "Scaled up replica set web-5d4f8c7b3 from 3 to 5"),
		happened("ReplicaSet", "3", "SuccessfulCreate", "Created Pod:\n  web-5d4f8c7b3-x2m4c"),
		happened("Pod", "pod", "Scheduled", "which the bars show"),
	} {
		p.Saw(o)
	}
	return p
}

// show puts a frame around lines, so that spaces at their ends can be seen.
func show(lines []string) string { return "\n" + strings.Join(lines, "|\n") + "|\n" }

func TestARolloutThatIsStuckOnAWideTerminal(t *testing.T) {
	assert.Equal(t, `
web: 8 of 10 ready, 5 updated|
  old, revision 2  5d4f8c7b2  ████████                                  8 of 8 ready|
  new, revision 3  5d4f8c7b3  ▒▒▒▒▒                                     0 of 5 ready|
  endpoints                   ████████▒▒▒▒▒                             8 ready, 5 not|
  █ available  ▓ ready  ▒ not ready  ░ missing|
  Not progressing: ProgressDeadlineExceeded|
  ScalingReplicaSet: Scaled up replica set web-5d4f8c7b3 from 3 to 5|
  SuccessfulCreate: Created Pod: web-5d4f8c7b3-x2m4c|
`, show(badUpdate().Lines(100, false)))
}

func TestOnANarrowTerminalThereAreNumbersInsteadOfBars(t *testing.T) {
	assert.Equal(t, `
web: 8 of 10 ready, 5 updated|
  old, 2     8 of 8 ready|
  new, 3     0 of 5 ready|
  endpoints  8 ready, 5 not|
  Not progressing: ProgressDe…|
  ScalingReplicaSet: Scaled u…|
  SuccessfulCreate: Created P…|
`, show(badUpdate().Lines(30, false)))
}

// A line that is too long would be wrapped, and the next picture would be drawn in the wrong place.
func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	p := manySets(strings.Repeat("long-name-", 6))
	for width := range 130 {
		for _, line := range append(p.Lines(width, true), badUpdate().Lines(width, true)...) {
			assert.LessOrEqual(t, ansi.StringWidth(line), max(width, 1), "%d columns: %s", width, line)
			assert.NotContains(t, line, "\n")
		}
	}
}

// manySets is a Deployment that was updated again and again before a rollout was over.
func manySets(name string) *Picture {
	p := New(name)
	p.Saw(deployment(name, 100, 100, 70))
	for revision := 1; revision <= 7; revision++ {
		p.Saw(set(revision, 10, 12, 9, 8))
	}
	p.Saw(set(8, 100, 80, 50, 1))
	return p
}

func TestManyReplicaSetsAndALongName(t *testing.T) {
	assert.Equal(t, `
a-deployment-with-a-name-of-sixty-three-characters…: 70 of 100 ready, 100 updated|
  5 older                     █████████▓▒▒▒▒          45 of 50 ready, 10 too many|
  old, revision 6  5d4f8c7b6  ██▒                     9 of 10 ready, 2 too many|
  old, revision 7  5d4f8c7b7  ██▒                     9 of 10 ready, 2 too many|
  new, revision 8  5d4f8c7b8  █▓▓▓▓▓▓▓▓▓▓▒▒▒▒▒▒▒░░░░  50 of 100 ready|
  █ available  ▓ ready  ▒ not ready  ░ missing|
`, show(manySets("a-deployment-with-a-name-of-sixty-three-characters-as-is-possible").Lines(81, false)))
}

func TestColorsAreThereOnlyIfTheyAreWanted(t *testing.T) {
	with, without := badUpdate().Lines(100, true), badUpdate().Lines(100, false)
	assert.Contains(t, with[1], "\x1b[32m████████\x1b[m")
	assert.NotContains(t, strings.Join(without, ""), "\x1b")
	for i := range with {
		assert.Equal(t, without[i], ansi.Strip(with[i]), "only the colors differ")
	}
}

func TestADeploymentThatIsNotThere(t *testing.T) {
	assert.Equal(t, []string{"web: not there"}, New("web").Lines(80, false))
	p := badUpdate()
	for _, o := range []metav1.Object{deployment("web", 1, 1, 1), set(2, 0, 0, 0, 0), set(3, 0, 0, 0, 0), endpoints("web", 0, 0)} {
		p.Gone(o)
	}
	assert.Equal(t, Facts{}, p.Facts())
}

func TestAReplicaSetOfSomebodyElseIsNotShown(t *testing.T) {
	p := New("web")
	p.Saw(deployment("web", 1, 0, 0))
	other := set(1, 5, 5, 5, 5)
	other.OwnerReferences[0].UID = "another"
	p.Saw(other)
	assert.Empty(t, p.Facts().Sets)
}

func TestARolloutIsCompleteWhenNothingIsLeftToDo(t *testing.T) {
	done := Facts{Wanted: 10, Pods: 10, Updated: 10, Ready: 10, Available: 10, Observed: true}
	assert.True(t, done.Complete())
	for what, spoil := range inorder.Map(map[string]func(*Facts){
		"the status is about an older spec": func(f *Facts) { f.Observed = false },
		"an old Pod is left":                func(f *Facts) { f.Pods++ },
		"a Pod is old":                      func(f *Facts) { f.Updated-- },
		"a Pod is not available":            func(f *Facts) { f.Available-- },
	}) {
		f := done
		spoil(&f)
		assert.False(t, f.Complete(), what)
	}
}

// Two Pods of one IP are two addresses, as in the Endpoints. A demo that counted them once would wait for the last one for ever.
func TestTwoPodsWithOneIPAreTwoAddresses(t *testing.T) {
	of := func(uid string) corev1.EndpointAddress {
		return corev1.EndpointAddress{IP: "10.0.0.1", TargetRef: &corev1.ObjectReference{UID: types.UID(uid)}}
	}
	p := New("web")
	p.Saw(&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Subsets: []corev1.EndpointSubset{
		{Addresses: []corev1.EndpointAddress{of("a"), of("b")}, NotReadyAddresses: []corev1.EndpointAddress{of("c")}},
		{Addresses: []corev1.EndpointAddress{of("a"), of("b")}, Ports: []corev1.EndpointPort{{Port: 9090}}},
	}})
	if f := p.Facts(); f.Serving != 2 || f.NotReady != 1 {
		t.Errorf("2 serve and 1 is not ready, but got %d and %d", f.Serving, f.NotReady)
	}
}
