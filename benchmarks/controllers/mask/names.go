package mask

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// names replaces what controllers and kubelets make up: the hash of a template, the names of Pods, and addresses.
type names struct {
	kinds  map[types.UID]string
	pairs  []string // old, new; for the replacer
	all    *strings.Replacer
	anyPod *strings.Replacer
}

// newNames numbers the ReplicaSets of Deployments, and then the Pods. A number says nothing but which object is meant in
// other places: objects are numbered in the order of their fields, and of two that are the same in all fields it does not
// matter which is which.
func newNames(objects []stage.Object, log []stage.Change) (*names, error) {
	n := &names{kinds: map[types.UID]string{}, all: strings.NewReplacer()}
	for _, change := range log {
		if namespace := change.Object.GetNamespace(); namespace != "" {
			n.pairs = append(n.pairs, namespace, "<namespace>")
			break
		}
	}
	var podNames []string
	hashes := map[string]bool{}
	addresses := map[string]bool{}
	for _, change := range log {
		n.kinds[change.Object.GetUID()] = change.Kind
		if hash := change.Object.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && len(hash) > 4 {
			hashes[hash] = true
		}
		if pod, ok := change.Object.(*corev1.Pod); ok {
			if isGenerated(pod) {
				podNames = append(podNames, pod.Name)
			}
			if pod.Status.PodIP != "" {
				addresses[pod.Status.PodIP] = true
			}
		}
	}
	if err := n.numberHashes(objects, hashes); err != nil {
		return nil, err
	}
	n.numberRevisions(objects, log)
	n.numberStarts(log)
	n.nameOwners(objects, log)
	if err := n.numberPods(objects, podNames, addresses); err != nil {
		return nil, err
	}
	var pods []string
	for _, name := range podNames {
		pods = append(pods, name, "<pod>")
	}
	n.anyPod = replacer(append(pods, n.pairs...))
	return n, nil
}

// isGenerated reports whether the API server has made the Pod's name. It cuts a long name off, so that it's 63 characters with
// the five that it adds. A StatefulSet names its Pods itself, and the original notes a name to generate from nevertheless.
func isGenerated(pod *corev1.Pod) bool {
	return pod.GenerateName != "" && len(pod.Name) == min(len(pod.GenerateName), 58)+5
}

func (n *names) replace(text string) string {
	return isNew.ReplaceAllString(n.all.Replace(text), "$1<new>$2")
}

func (n *names) replaceAnyPod(text string) string {
	return isNew.ReplaceAllString(n.anyPod.Replace(text), "$1<new>$2")
}

// isNew is the name of a Pod that could not be made.
var isNew = regexp.MustCompile(`(pods "[a-z0-9.-]*-)[bcdfghjklmnpqrstvwxz2456789]{5}(")`)

// replacer prefers the longest.
func replacer(pairs []string) *strings.Replacer {
	type pair [2]string
	var sorted []pair
	for i := 0; i < len(pairs); i += 2 {
		sorted = append(sorted, pair{pairs[i], pairs[i+1]})
	}
	slices.SortStableFunc(sorted, func(a, b pair) int { return cmp.Compare(len(b[0]), len(a[0])) })
	flat := make([]string, 0, len(pairs))
	for _, p := range sorted {
		flat = append(flat, p[0], p[1])
	}
	return strings.NewReplacer(flat...)
}

// blank is what an object looks like when some names are not known.
func (n *names) blank(object stage.Object, pairs ...string) (string, error) {
	saved := n.all
	defer func() { n.all = saved }()
	n.all = replacer(append(pairs, n.pairs...))
	tree, err := n.scrubbed(object)
	if err != nil {
		return "", err
	}
	state := State{}
	flatten(state, n.replace(object.GetName()), tree)
	return state.sortedLines(), nil
}

// numberHashes replaces the hash of a template by the number of its ReplicaSet. One that is gone has no number.
func (n *names) numberHashes(objects []stage.Object, hashes map[string]bool) error {
	type numbered struct{ hash, looks string }
	var sets []numbered
	for _, object := range objects {
		set, ok := object.(*appsv1.ReplicaSet)
		hash := object.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
		if !ok || !hashes[hash] {
			continue
		}
		looks, err := n.blank(set, hash, "HASH")
		if err != nil {
			return err
		}
		sets = append(sets, numbered{hash, looks})
	}
	slices.SortFunc(sets, func(a, b numbered) int { return cmp.Or(cmp.Compare(a.looks, b.looks), cmp.Compare(a.hash, b.hash)) })
	for i, set := range sets {
		if hashes[set.hash] {
			n.pairs = append(n.pairs, set.hash, fmt.Sprintf("rs%d", i+1))
			delete(hashes, set.hash)
		}
	}
	for hash := range hashes {
		n.pairs = append(n.pairs, hash, "rsX")
	}
	return nil
}

// numberRevisions replaces the hash in the name of a ControllerRevision by its number.
func (n *names) numberRevisions(objects []stage.Object, log []stage.Change) {
	is := map[string]string{}
	for _, change := range log {
		if change.Kind == stage.ControllerRevision {
			is[suffix(change.Object)] = "revX"
		}
	}
	for _, object := range objects {
		if revision, ok := object.(*appsv1.ControllerRevision); ok {
			is[suffix(revision)] = fmt.Sprintf("rev%d", revision.Revision)
		}
	}
	for hash, number := range is {
		n.pairs = append(n.pairs, hash, number)
	}
}

// suffix is what comes after the last dash of a name.
func suffix(object stage.Object) string {
	return object.GetName()[strings.LastIndex(object.GetName(), "-")+1:]
}

// numberStarts replaces the minute in the name of a CronJob's Job by a number, oldest first.
func (n *names) numberStarts(log []stage.Change) {
	var minutes []string
	for _, change := range log {
		if owner := metav1.GetControllerOf(change.Object); change.Kind == stage.Job && owner != nil && len(suffix(change.Object)) == 8 {
			minutes = append(minutes, suffix(change.Object))
		}
	}
	slices.Sort(minutes)
	for i, minute := range slices.Compact(minutes) {
		n.pairs = append(n.pairs, minute, fmt.Sprintf("start%d", i+1))
	}
}

// nameOwners replaces the UIDs of what may own something. One that is gone is another one than one that is there.
func (n *names) nameOwners(objects []stage.Object, log []stage.Change) {
	there := map[types.UID]bool{}
	for _, object := range objects {
		there[object.GetUID()] = true
	}
	known, byNumber := map[types.UID]bool{}, replacer(n.pairs)
	for _, change := range log {
		uid := change.Object.GetUID()
		if known[uid] || change.Kind == stage.Pod || change.Kind == stage.Event {
			continue
		}
		known[uid] = true
		is := "the " + change.Kind + " " + byNumber.Replace(change.Object.GetName())
		if !there[uid] {
			is += " that is gone"
		}
		n.pairs = append(n.pairs, string(uid), is)
	}
}

// numberPods replaces the names that were made for Pods, and the addresses of all Pods.
func (n *names) numberPods(objects []stage.Object, ever []string, addresses map[string]bool) error {
	type numbered struct {
		pod   *corev1.Pod
		looks string
	}
	var pods []numbered
	for _, object := range objects {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			continue
		}
		pairs := []string{}
		if isGenerated(pod) {
			pairs = append(pairs, pod.Name, "POD")
		}
		if pod.Status.PodIP != "" {
			pairs = append(pairs, pod.Status.PodIP, "ADDRESS")
		}
		looks, err := n.blank(pod, pairs...)
		if err != nil {
			return err
		}
		pods = append(pods, numbered{pod, looks})
	}
	slices.SortFunc(pods, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.looks, b.looks), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	numbers := map[string]int{}
	for _, one := range pods {
		name := one.pod.Name
		if base := one.pod.GenerateName; isGenerated(one.pod) {
			numbers[base]++
			name = replacer(n.pairs).Replace(base) + fmt.Sprintf("pod%d", numbers[base])
			n.pairs = append(n.pairs, one.pod.Name, name)
		}
		if address := one.pod.Status.PodIP; addresses[address] {
			n.pairs = append(n.pairs, address, "address-of-"+name)
			delete(addresses, address)
		}
	}
	for _, name := range ever {
		if !slices.ContainsFunc(pods, func(one numbered) bool { return one.pod.Name == name }) {
			n.pairs = append(n.pairs, name, "<pod that is gone>")
		}
	}
	for address := range addresses {
		n.pairs = append(n.pairs, address, "<address of a Pod that is gone>")
	}
	n.all = replacer(n.pairs)
	return nil
}
