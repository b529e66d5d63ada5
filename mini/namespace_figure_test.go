package mini_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// podState shows the Pod web of the namespace red.
func (w *tenants) podState() figures.State {
	w.Helper()
	pods, err := w.Other.CoreV1().Pods("red").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	switch {
	case len(pods.Items) == 0:
		return figures.State{}
	case pods.Items[0].DeletionTimestamp != nil:
		return figures.State{Class: "ending", Text: "ending"}
	}
	return figures.State{Class: "well", Text: "there"}
}

func (w *tenants) secretState() figures.State {
	w.Helper()
	if w.secrets("red") == 0 {
		return figures.State{}
	}
	return figures.State{Class: "well", Text: "there"}
}

// namespaceState shows the namespace after some time, and what its conditions say.
func (w *tenants) namespaceState(d time.Duration) figures.State {
	w.Helper()
	ns := w.after(d, "red")
	switch {
	case ns == nil:
		return figures.State{}
	case ns.DeletionTimestamp == nil:
		return figures.State{Class: "well", Text: "there"}
	}
	text := "ending"
	for _, message := range bad(ns) {
		_, text, _ = strings.Cut(message, ": ")
	}
	return figures.State{Class: "ending", Text: strings.ReplaceAll(text, ": ", ":\n")}
}

// The chapter shows which objects of a namespace wait for which.
func TestTheFigureOfANamespaceShowsWhoWaitsForWhom(t *testing.T) {
	withTenants(t, func(w *tenants) {
		picture := figures.NewSteps("Pod", "Secret", "namespace")
		add := func(what string, after time.Duration) {
			ns := w.namespaceState(after)
			picture.Add(what, w.podState(), w.secretState(), ns)
		}
		w.secret("red", "password")
		w.runs("red", "web")
		add("at first", 0)
		w.deleteNamespace("red")
		add("a user deletes red", 0)
		add("first pass, after 5 s:\nthe Pods are deleted", 6*time.Second)
		add("second pass, after 8 s:\nit looks for Pods", 8*time.Second)
		w.kubeletEnds("red", "web")
		add("the last Pod has ended", 0)
		add("third pass: all the rest,\nand the namespace", 8*time.Second)
		figurestest.Check(t, picture.Draw("A namespace is emptied",
			"The namespace is ending until the API server lists nothing in it. The first "+
				"pass deletes the Pod alone. The Secret stays until the Pod has ended. Then the "+
				"next pass deletes the Secret, and the namespace goes."),
			"../chapters/30-namespace/emptied.svg")
	})
}
