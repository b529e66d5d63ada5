package mini

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// The chapter shows the three requests that count a Pod once. They come in the order in
// which a reconcile carries out its plan: the status, then the finalizers.
func TestTheFigureOfAJobShowsHowAPodIsCounted(t *testing.T) {
	picture := figures.NewSteps("Pod", "uncounted", "succeeded")
	job, pod := plannedJob(3, 1), plannedPod("p", corev1.PodRunning)
	pods := []*corev1.Pod{pod}
	add := func(what string) {
		state := figures.State{Class: "well", Text: "runs"}
		switch {
		case len(pods) == 0:
			state = figures.State{}
		case isEnding(pod):
			state = figures.State{Class: "ending", Text: "the finalizer\nkeeps it"}
		case pod.Status.Phase == corev1.PodSucceeded:
			state = figures.State{Class: "fresh", Text: "succeeded"}
		}
		list := figures.State{}
		if uids := uncountedPods(&job.Status); len(uids) > 0 {
			list = figures.State{Class: "box", Text: "UID " + string(uids[0])}
		}
		number := figures.State{Class: "box", Text: fmt.Sprint(job.Status.Succeeded)}
		picture.Add(what, state, list, number)
	}
	add("a Pod with a finalizer")
	pod.Status.Phase = corev1.PodSucceeded
	add("it succeeds")
	nowDeleted(pod)
	add("a user deletes it")
	for _, request := range []string{"1. ", "2. ", "3. "} {
		p := planJob(job, pods, jobNow)
		if !equality.Semantic.DeepEqual(p.status, job.Status) {
			job.Status = p.status
			add(request + "write the status")
			continue
		}
		pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
			return slices.Contains(p.untrack, pod) // without a finalizer, it goes
		})
		add(request + "take the finalizer")
	}
	require.EqualValues(t, 1, job.Status.Succeeded)
	figurestest.Check(t, picture.Draw("A Pod is counted once",
		"A Pod that a user has deleted stays because of its finalizer. The first "+
			"request writes its UID into the list of uncounted Pods. The second takes the "+
			"finalizer, and the Pod goes. The third takes the UID out of the list and "+
			"raises the number, in one write."),
		"../chapters/31-job/counted.svg")
}
