package mini

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// agentsOverTime plays what decide says about the nodes a, b and c, step by step.
type agentsOverTime struct {
	*figures.Steps
	template string   // "old" or "fresh": the DaemonSet's
	taints   []string // of each node: "" or "NoSchedule"
	pods     []string // on each node: "", or the words of agentPod
}

// decide carries out a plan, and adds it to the picture. Then Pods that start become ready,
// and those that are ending end.
func (a *agentsOverTime) decide(why ...string) {
	var nodes []string
	for i, pod := range a.pods {
		nodes = append(nodes, a.taints[i]+" "+pod)
	}
	d := agentNodes("0", "1", nodes...)
	d.hash = map[string]string{"old": "v1", "fresh": "v2"}[a.template]
	plan := d.decide()
	for _, node := range plan.create {
		a.pods[node[0]-'a'] = a.template
	}
	if len(plan.create) > 0 {
		why = append(why, "create on "+strings.Join(plan.create, " and "))
	}
	for _, pod := range plan.remove {
		a.pods[pod.Spec.NodeName[0]-'a'] += " ending"
		why = append(why, "delete on "+pod.Spec.NodeName)
	}
	var states []figures.State
	for i, pod := range a.pods {
		states = append(states, agentState(pod))
		switch {
		case strings.Contains(pod, "ending"):
			a.pods[i] = ""
		case pod != "" && !strings.Contains(pod, "ready"):
			a.pods[i] += " ready"
		}
	}
	a.Add(strings.Join(why, "\n"), states...)
}

func agentState(pod string) figures.State {
	state := figures.State{Class: "well", Text: "version 1"}
	if strings.Contains(pod, "fresh") {
		state = figures.State{Class: "fresh", Text: "version 2"}
	}
	switch {
	case pod == "":
		return figures.State{}
	case strings.Contains(pod, "ending"):
		return figures.State{Class: "ending", Text: state.Text + "\nending"}
	case !strings.Contains(pod, "ready"):
		return figures.State{Class: "waiting", Text: state.Text + "\nstarting"}
	}
	return state
}

// The chapter shows which nodes get Pods, and in which order an update replaces them.
func TestTheFigureOfADaemonSetShowsItsPlans(t *testing.T) {
	a := &agentsOverTime{
		Steps: figures.NewSteps("node a", "node b", "node c"), template: "old",
		taints: []string{"", "", "NoSchedule"}, pods: make([]string, 3),
	}
	a.decide("node c has NoSchedule")
	a.decide("all are ready")
	a.taints = []string{"", "NoSchedule", ""}
	a.decide("now node b has it")
	a.taints, a.template = make([]string, 3), "fresh"
	a.decide("no taint; version 2")
	for range 5 {
		a.decide()
	}
	a.decide("the update is complete")
	require.Equal(t, []string{"fresh ready", "fresh ready", "fresh ready"}, a.pods)
	figurestest.Check(t, a.Draw("A DaemonSet's Pods on three nodes",
		"With NoSchedule on node c, only a and b get a Pod. When the taint is on b, the Pod of b "+
			"stays, and c gets one. Then version 2 replaces the Pods, one node after the other."),
		"../chapters/33-daemonset/nodes.svg")
}
