package mini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// membersOverTime plays what decide says about three members, step by step.
type membersOverTime struct {
	*testing.T
	*figures.Steps
	template string   // "old" or "new": the set's
	members  []string // "" for none, or the words of memberPod
	claim    string   // of the last member; it's created with the first Pod that uses it
}

// decide carries out a plan, and adds it to the picture. Then Pods that start become ready,
// unless their image is bad: that's the new one. Those that are ending end.
func (m *membersOverTime) decide(why ...string) {
	var pods []*corev1.Pod
	for i, words := range m.members {
		if words != "" {
			pods = append(pods, memberPod(fmt.Sprint("db-", i), words))
		}
	}
	update := &appsv1.ControllerRevision{}
	update.Name = map[string]string{"old": "db-v1", "new": "db-v2"}[m.template]
	update.Data.Raw = []byte(`{"spec":{"template":{}}}`)
	set := plannedSet(3)
	set.Spec.Selector = &metav1.LabelSelector{}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	set.Spec.VolumeClaimTemplates[0].Name = "data"
	s := newStateful(set, history{update: update}, pods, statefulNow)
	plan := s.decide()
	for _, i := range plan.create {
		pod, err := s.newPod(i)
		require.NoError(m, err)
		m.members[i] = m.template
		why = append(why, "create "+pod.Name)
		if claim := pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName; i == 2 {
			require.Contains(m, []string{"", claim}, m.claim, "a member has one disk")
			m.claim = claim
		}
	}
	for _, pod := range plan.remove {
		m.members[ordinalOf(set, pod)] += " ending"
		why = append(why, "delete "+pod.Name)
	}
	var states []figures.State
	for i, words := range m.members {
		states = append(states, memberState(words))
		switch {
		case strings.Contains(words, "ending"):
			m.members[i] = ""
		case words == "old":
			m.members[i] += " ready"
		}
	}
	claim := figures.State{}
	if m.claim != "" {
		claim = figures.State{Class: "well", Text: "data"}
	}
	m.Add(strings.Join(why, "\n"), append(states, claim)...)
}

func memberState(words string) figures.State {
	text := "good"
	if strings.Contains(words, "new") {
		text = "bad"
	}
	switch {
	case words == "":
		return figures.State{}
	case strings.Contains(words, "ending"):
		return figures.State{Class: "ending", Text: text + "\nending"}
	case !strings.Contains(words, "ready"):
		return figures.State{Class: "waiting", Text: text + "\nnot ready"}
	}
	return figures.State{Class: "well", Text: text}
}

// The chapter shows that members come in order, that a bad image reaches one of them, and
// that a rollback replaces it. Its claim stays.
func TestTheFigureOfAStatefulSetShowsItsPlans(t *testing.T) {
	m := &membersOverTime{
		T: t, Steps: figures.NewSteps("db-0", "db-1", "db-2", "data-db-2"),
		template: "old", members: make([]string, 3),
	}
	m.decide("3 replicas")
	m.decide("db-0 is ready")
	m.decide("db-1 is ready")
	m.decide("all are ready")
	m.template = "new"
	m.decide("the image is bad")
	m.decide()
	m.decide("it waits, forever")
	m.template = "old"
	m.decide("the image is good")
	m.decide()
	m.decide("all are ready")
	require.Equal(t, []string{"old ready", "old ready", "old ready"}, m.members)
	require.Equal(t, "data-db-2", m.claim)
	figurestest.Check(t, m.Draw("A StatefulSet's members, and the claim of the last one",
		"The members come one after the other. A bad image reaches db-2 alone, which "+
			"never gets ready. With the good image again, db-2 is replaced, although it "+
			"isn't ready. Its claim stays all the time."),
		"../chapters/34-statefulset/members.svg")
}
