package mask

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// scrubbed is an object as a tree of JSON, without what is new in each run, and with its names replaced.
func (n *names) scrubbed(object stage.Object) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", object.GetName(), err)
	}
	meta := tree["metadata"].(map[string]any)
	for _, made := range []string{"uid", "resourceVersion", "namespace", "name"} {
		delete(meta, made)
	}
	delete(tree, "kind") // a watch leaves both out, or does not
	delete(tree, "apiVersion")
	n.scrubGeneration(object, tree, meta)
	fields, err := owned(object.GetManagedFields())
	if err != nil {
		return nil, err
	}
	meta["managedFields"] = fields
	if spec, ok := tree["spec"].(map[string]any); ok {
		for _, one := range []string{"clusterIP", "clusterIPs"} {
			if value, ok := spec[one]; ok && fmt.Sprint(value) != "None" && fmt.Sprint(value) != "[None]" && fmt.Sprint(value) != "" {
				spec[one] = "<address>"
			}
		}
	}
	if spec, ok := tree["spec"].(map[string]any); ok {
		if taints, ok := spec["taints"].([]any); ok {
			slices.SortFunc(taints, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) // effect, then key
		}
	}
	if subsets, ok := tree["subsets"].([]any); ok {
		tree["inOrder"] = inOrder(subsets)
		sortPorts(subsets)
	}
	return n.scrub(tree).(map[string]any), nil
}

// scrubGeneration keeps the number only where the scenario alone writes the spec: in how many steps a rollout scales its
// ReplicaSets depends on the moment. That the newest one was observed stays.
func (n *names) scrubGeneration(object stage.Object, tree, meta map[string]any) {
	if status, ok := tree["status"].(map[string]any); ok {
		if observed, ok := status["observedGeneration"]; ok && fmt.Sprint(observed) == fmt.Sprint(object.GetGeneration()) {
			status["observedGeneration"] = "the newest"
		}
	}
	if n.kinds[object.GetUID()] == stage.ReplicaSet && metav1.GetControllerOf(object) != nil {
		delete(meta, "generation")
	}
	if n.kinds[object.GetUID()] == stage.Pod {
		delete(meta, "generation")
	}
}

// scrub replaces names and times in all strings of a tree.
func (n *names) scrub(node any) any {
	switch node := node.(type) {
	case map[string]any:
		scrubbed := make(map[string]any, len(node))
		for key, value := range node {
			if key == "uid" && n.kinds[types.UID(fmt.Sprint(value))] == stage.Pod {
				continue // the name stands beside it
			}
			if key == "resourceVersion" {
				value = "<version>"
			}
			scrubbed[n.replace(key)] = n.scrub(value)
		}
		return scrubbed
	case []any:
		scrubbed := make([]any, len(node))
		for i, value := range node {
			scrubbed[i] = n.scrub(value)
		}
		return scrubbed
	case string:
		if isTime.MatchString(node) {
			return "<time>"
		}
		return n.replace(node)
	default:
		return node
	}
}

// owned says who owns which fields. Kubernetes' own controllers have one name, ours another: both are "controller". What a
// kubelet owns is no concern of theirs.
func owned(entries []metav1.ManagedFieldsEntry) (map[string]any, error) {
	all := map[string]any{}
	for _, entry := range entries {
		who := entry.Manager
		if who == "kube-controller-manager" || who == stage.ControllerAgent {
			who = "controller"
		}
		if who == stage.KubeletAgent {
			continue
		}
		if entry.Subresource != "" {
			who += " " + entry.Subresource
		}
		if entry.Operation != metav1.ManagedFieldsOperationUpdate {
			who += " " + string(entry.Operation)
		}
		fields := map[string]any{}
		if entry.FieldsV1 != nil {
			if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
				return nil, fmt.Errorf("the fields of %s: %w", entry.Manager, err)
			}
		}
		mine, _ := all[who].(map[string]any)
		if mine == nil {
			mine = map[string]any{}
		}
		gather(mine, "", fields)
		all[who] = mine
	}
	return all, nil
}

// gather collects the paths of fields, each with "owned".
func gather(into map[string]any, path string, fields map[string]any) {
	for name, below := range fields {
		tree, _ := below.(map[string]any)
		if name == "." {
			into[path+" itself"] = "owned"
			continue
		}
		name = strings.TrimPrefix(name, "f:")
		if len(tree) == 0 {
			into[path+"/"+name] = "owned"
		}
		gather(into, path+"/"+name, tree)
	}
}

// sortPorts puts ports, and subsets by their ports, into one order. The originals sort both by a hash of their fields;
// nobody reads an order into them.
func sortPorts(subsets []any) {
	byText := func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	for _, subset := range subsets {
		if ports, ok := subset.(map[string]any)["ports"].([]any); ok {
			slices.SortFunc(ports, byText)
		}
	}
	slices.SortFunc(subsets, func(a, b any) int { return byText(a.(map[string]any)["ports"], b.(map[string]any)["ports"]) })
}

// inOrder reports whether the addresses of each subset are sorted, as they are before names replace them.
func inOrder(subsets []any) bool {
	for _, subset := range subsets {
		for _, list := range []string{"addresses", "notReadyAddresses"} {
			addresses, _ := subset.(map[string]any)[list].([]any)
			if !sort.SliceIsSorted(addresses, func(i, j int) bool {
				return fmt.Sprint(addresses[i].(map[string]any)["ip"]) < fmt.Sprint(addresses[j].(map[string]any)["ip"])
			}) {
				return false
			}
		}
	}
	return true
}

// flatten writes a value for each leaf of a tree.
func flatten(into State, path string, node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			flatten(into, path+"."+key, value)
		}
	case []any:
		keys := keysOf(path, node)
		for i, value := range node {
			flatten(into, path+"["+keys[i]+"]", value)
		}
	default:
		into[path] = fmt.Sprint(node)
	}
}

// keysOf are the keys of a list's elements: what the API says that its key is, or else the position. The order of a
// list with keys has no meaning.
func keysOf(path string, list []any) []string {
	keys := make([]string, len(list))
	for i, element := range list {
		keys[i] = fmt.Sprint(i)
		one, _ := element.(map[string]any)
		for _, key := range []string{"type", "name", "ip", "port"} {
			if value, ok := one[key].(string); ok && !strings.HasSuffix(path, ".ports") {
				keys[i] = value
				break
			}
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(keys)))) < len(keys) { // two have the same
		for i := range keys {
			keys[i] = fmt.Sprint(i)
		}
	}
	return keys
}

// sortedLines is a state as text.
func (s State) sortedLines() string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s=%s\n", path, s[path])
	}
	return b.String()
}
