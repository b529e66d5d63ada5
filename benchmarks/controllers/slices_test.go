package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/manager/log"
)

// leftOut are scenarios in which the names of Pods differ in each run, and one that takes minutes.
var leftOut = []string{"endpoints: of a Deployment", "endpoints: a rollout that gets stuck", "endpoints: more Pods than there is room for"}

// openSlices brings up a world with the original that writes slices, and one with ours. All other originals run in both.
func openSlices(t *testing.T) (worlds Worlds) {
	t.Helper()
	var err error
	worlds.Theirs, err = stage.New(t.Context(), stage.Options{Name: "original-slices", Originals: cluster.SampleControllers}, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, worlds.Theirs.Close()) })
	without := append(slices.Clone(cluster.SampleControllers), "-endpointslice-controller")
	worlds.Ours, err = stage.New(t.Context(), stage.Options{Name: "our-slices", Originals: without, Ours: map[string]stage.Controller{
		"endpointslice-controller": func(ctx context.Context, config *rest.Config) error { return endpoints.RunSlices(ctx, config, workers) },
	}}, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, worlds.Ours.Close()) })
	return worlds
}

// Nodes read slices. Whoever changes from the original to ours must not notice it, after any step.
func TestSlicesOnARealServerAreAsWithTheOriginal(t *testing.T) {
	if testing.Short() {
		t.Skip("needs two clusters, which -short leaves out")
	}
	log.SetLogger(logr.Discard())
	worlds := openSlices(t)
	list := slices.DeleteFunc(scenarios.Written(), func(s scenarios.Scenario) bool {
		return s.About != "endpoints" || slices.Contains(leftOut, s.Name)
	})
	require.NotEmpty(t, list)
	numbers := make(chan int)
	var players sync.WaitGroup
	for range 8 {
		players.Go(func() {
			for i := range numbers {
				if err := compareSlices(t.Context(), worlds, list[i], fmt.Sprintf("slices-%d", i)); err != nil {
					t.Errorf("%s: %v", list[i].Name, err)
				}
			}
		})
	}
	for i := range list {
		numbers <- i
	}
	close(numbers)
	players.Wait()
}

// compareSlices plays a scenario in both worlds. After each step, the slices have to become the same.
func compareSlices(ctx context.Context, worlds Worlds, scenario scenarios.Scenario, namespace string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var sides []*stage.Stage
	for _, world := range []*stage.World{worlds.Theirs, worlds.Ours} {
		s, err := world.NewStage(ctx, namespace)
		if err != nil {
			return err
		}
		go s.Kubelet(ctx)
		defer func() { _ = s.End(context.WithoutCancel(ctx)) }()
		sides = append(sides, s)
	}
	for i, step := range scenario.Steps {
		for _, s := range sides {
			if err := step.Do(ctx, s); err != nil {
				return fmt.Errorf("step %d, %s: %w", i+1, step.Text, err)
			}
			if step.Hurried {
				continue
			}
			if err := s.Settle(ctx); err != nil {
				return fmt.Errorf("step %d, %s: %w", i+1, step.Text, err)
			}
		}
		if err := haveSameSlices(ctx, sides); err != nil {
			return fmt.Errorf("after step %d, %s: %w", i+1, step.Text, err)
		}
	}
	return nil
}

// haveSameSlices waits until both have the same slices.
func haveSameSlices(ctx context.Context, sides []*stage.Stage) error {
	var theirs, ours string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var texts [2]string
		for i, s := range sides {
			text, err := slicesText(ctx, s)
			if err != nil {
				return err
			}
			texts[i] = text
		}
		if theirs, ours = texts[0], texts[1]; theirs == ours {
			return nil
		}
	}
	return fmt.Errorf("theirs\n%s\nours\n%s", theirs, ours)
}

// slicesText is all slices of a namespace, without what is another in each run: names, UIDs, times, and which number the
// address of a Pod has.
func slicesText(ctx context.Context, s *stage.Stage) (string, error) {
	list, err := s.Client.DiscoveryV1().EndpointSlices(s.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	addresses := map[string]string{}
	for _, change := range s.Log() { // a slice that nobody corrects any more has addresses of Pods that are gone
		if pod, is := change.Object.(*corev1.Pod); is && pod.Status.PodIP != "" {
			addresses[pod.Name] = pod.Status.PodIP
		}
	}
	var lines []string
	for i := range list.Items {
		lines = append(lines, sliceText(&list.Items[i], addresses))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func sliceText(slice *discoveryv1.EndpointSlice, addresses map[string]string) string {
	delete(slice.Annotations, corev1.EndpointsLastChangeTriggerTime)
	owners := ""
	for _, owner := range slice.OwnerReferences {
		owners += fmt.Sprintf("%s %s %s %t %t", owner.APIVersion, owner.Kind, owner.Name, *owner.Controller, *owner.BlockOwnerDeletion)
	}
	var endpoints, ports []string
	for _, endpoint := range slice.Endpoints {
		if target := endpoint.TargetRef; target != nil {
			if target.UID = ""; endpoint.Addresses[0] == addresses[target.Name] {
				endpoint.Addresses[0] = "that of " + target.Name
			}
			target.Namespace = ""
		}
		text, _ := json.Marshal(endpoint) // it came as JSON
		endpoints = append(endpoints, string(text))
	}
	for _, port := range slice.Ports {
		text, _ := json.Marshal(port)
		ports = append(ports, string(text))
	}
	slices.Sort(endpoints)
	slices.Sort(ports)
	return fmt.Sprint(slice.GenerateName, slice.Labels, slice.Annotations, owners, slice.AddressType, ports, "\n  ", strings.Join(endpoints, "\n  "))
}

// A test that sees no difference where there is one proves nothing.
func TestASliceThatDiffersHasAnotherText(t *testing.T) {
	slice := func(change func(*discoveryv1.EndpointSlice)) string {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{"a": "b"}}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
				TargetRef: &corev1.ObjectReference{Name: "pod"}}},
			Ports: []discoveryv1.EndpointPort{{Name: new("http")}},
		}
		change(s)
		return sliceText(s, map[string]string{"pod": "10.0.0.1"})
	}
	same := slice(func(s *discoveryv1.EndpointSlice) { s.Name, s.UID = "web-2", "2" })
	require.Equal(t, slice(func(*discoveryv1.EndpointSlice) {}), same)
	for i, change := range []func(*discoveryv1.EndpointSlice){
		func(s *discoveryv1.EndpointSlice) { s.Labels["a"] = "c" },
		func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil },
		func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.0.0.2" },
		func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = new(false) },
		func(s *discoveryv1.EndpointSlice) { s.Ports = nil },
		func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 },
	} {
		assert.NotEqual(t, same, slice(change), "change %d", i)
	}
}
