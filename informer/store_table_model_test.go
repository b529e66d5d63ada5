package informer

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/inorder"
)

// storeModel is the store as one would write it without a thought for speed: a
// map, searched from end to end for every question.
type storeModel map[Key]*corev1.Pod

func (m storeModel) having(value string, index IndexFunc[*corev1.Pod]) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range m {
		if slices.Contains(index(nil, pod), value) {
			found = append(found, pod)
		}
	}
	return found
}

func (m storeModel) values(index IndexFunc[*corev1.Pod]) []string {
	values := []string{}
	for _, pod := range m {
		values = append(values, index(nil, pod)...)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func (m storeModel) all() []*corev1.Pod {
	var all []*corev1.Pod
	for _, pod := range m {
		all = append(all, pod)
	}
	return all
}

// labelValues is an index with any number of values, repeated ones too.
func labelValues(values []string, pod *corev1.Pod) []string {
	return append(values, strings.Fields(pod.Labels["values"])...)
}

// reader is an iteration that is under way, and what it has to show.
type heldReader struct {
	next func() (*corev1.Pod, bool)
	stop func()
	seen []*corev1.Pod
	want []*corev1.Pod
}

// versionsOf are the pods with their versions, of which no two are alike, sorted.
func versionsOf(pods []*corev1.Pod) []string {
	names := []string{}
	for _, pod := range pods {
		if pod == nil {
			names = append(names, "no pod at all")
			continue
		}
		names = append(names, fmt.Sprintf("%s at %s", KeyOf(pod), pod.ResourceVersion))
	}
	slices.Sort(names)
	return names
}

// playStore runs a program, two bytes a step, on a store and on the model, and
// compares them after each step. Iterations are begun, left open across other
// steps, and must show the moment in which they began.
func playStore(t *testing.T, program []byte) (did storeEffects) {
	store, model := NewStore[*corev1.Pod](StoreOptions{}), storeModel{}
	indices := map[string]IndexFunc[*corev1.Pod]{}
	available := map[string]IndexFunc[*corev1.Pod]{"node": nodeOf, "labels": labelValues, NamespaceIndex: IndexNamespace[*corev1.Pod]}
	var open []*heldReader
	begin := func(seq iter.Seq[*corev1.Pod], want []*corev1.Pod) {
		next, stop := iter.Pull(seq)
		reader := &heldReader{next: next, stop: stop, want: want}
		if pod, ok := next(); ok { // the first step takes the view
			reader.seen = append(reader.seen, pod)
		}
		open = append(open, reader)
	}
	finish := func(reader *heldReader) {
		did.found += len(reader.want)
		for pod, ok := reader.next(); ok; pod, ok = reader.next() {
			reader.seen = append(reader.seen, pod)
		}
		require.Equal(t, versionsOf(reader.want), versionsOf(reader.seen), "an iteration must show the moment in which it began")
	}
	version := 0
	makePod := func(b byte) *corev1.Pod {
		version++
		pod := podOn(fmt.Sprintf("pod-%d", b%200), fmt.Sprintf("node-%d", int(b)*version%5))
		pod.Namespace = fmt.Sprintf("shop-%d", b%2)
		pod.ResourceVersion = fmt.Sprint(version)
		pod.Labels = map[string]string{"values": strings.Join(slices.Repeat([]string{fmt.Sprintf("v%d v%d", version%4, int(b)%3)}, int(b)%3), " ")}
		return pod
	}
	for ; len(program) >= 2; program = program[2:] {
		op, b := program[0], program[1]
		pod := makePod(b)
		switch op % 16 {
		case 0:
			var pods []*corev1.Pod
			clear(model)
			for i := range b {
				pods = append(pods, makePod(i))
				model[KeyOf(pods[i])] = pods[i]
			}
			store.Replace(pods)
		case 1:
			name := []string{"node", "labels", NamespaceIndex}[b%3]
			_, err := store.AddIndex(name, available[name])
			require.Equal(t, indices[name] != nil, err != nil)
			indices[name] = available[name]
		case 2:
			begin(store.All(), model.all())
		case 3:
			for _, asked := range [][2]string{{"labels", "v1"}, {"node", pod.Spec.NodeName}} {
				name, value := asked[0], asked[1]
				if index, ok := store.Index(name); ok {
					begin(index.Lookup(value), model.having(value, indices[name]))
				}
			}
		case 4:
			if len(open) > 0 {
				finish(open[0])
				open = open[1:]
			}
		case 5:
			if len(open) > 0 { // a loop that is left early
				did.left++
				open[0].stop()
				open = open[1:]
			}
		case 6, 7, 8, 9:
			at, count := store.slotOf(KeyOf(pod)), store.Len()
			old, existed := store.Delete(KeyOf(pod))
			if existed {
				did.deletions++
				if int(at) != count-1 {
					did.moves++
				}
			}
			require.Equal(t, model[KeyOf(pod)], old)
			require.Equal(t, model[KeyOf(pod)] != nil, existed)
			delete(model, KeyOf(pod))
		case 15:
			// The end of a posting list changes hands, perhaps while a loop goes
			// through it: its last object moves away, and another one comes.
			if index, ok := store.Index("node"); ok {
				var last *corev1.Pod
				for found := range index.Lookup(pod.Spec.NodeName) {
					last = found
				}
				if last != nil {
					moved := last.DeepCopy()
					moved.Spec.NodeName, moved.ResourceVersion = "node-away", moved.ResourceVersion+"-moved"
					store.Put(moved)
					model[KeyOf(moved)] = moved
				}
			}
			store.Put(pod)
			model[KeyOf(pod)] = pod
		default:
			old, existed := store.Put(pod)
			if existed {
				did.updates++
			}
			require.Equal(t, model[KeyOf(pod)], old)
			require.Equal(t, model[KeyOf(pod)] != nil, existed)
			model[KeyOf(pod)] = pod
		}
		did.most = max(did.most, store.Len())
		compareStore(t, store, model, indices)
	}
	for _, reader := range open {
		finish(reader)
	}
	require.Zero(t, store.now.readers.Load(), "an iteration was not given back")
	return did
}

// storeEffects is what a program exercised; one that does nothing proves nothing.
type storeEffects struct{ most, updates, deletions, moves, found, left int }

func (e *storeEffects) add(other storeEffects) {
	e.most = max(e.most, other.most)
	e.updates, e.deletions, e.moves = e.updates+other.updates, e.deletions+other.deletions, e.moves+other.moves
	e.found, e.left = e.found+other.found, e.left+other.left
}

func compareStore(t *testing.T, store *Store[*corev1.Pod], model storeModel, indices map[string]IndexFunc[*corev1.Pod]) {
	require.Equal(t, len(model), store.Len())
	count := 0
	for pod := range store.All() {
		require.Same(t, model[KeyOf(pod)], pod)
		found, ok := store.Get(KeyOf(pod))
		require.True(t, ok && found == pod)
		count++
	}
	require.Equal(t, len(model), count)
	for name, values := range inorder.Map(indices) {
		index, ok := store.Index(name)
		require.True(t, ok)
		require.Equal(t, model.values(values), append([]string{}, index.Values()...), "the values of index %q", name)
		for _, value := range index.Values() {
			want := model.having(value, values)
			require.Equal(t, len(want), index.Count(value))
			found := map[*corev1.Pod]bool{}
			for pod := range index.Lookup(value) {
				require.Contains(t, values(nil, pod), value)
				require.Same(t, model[KeyOf(pod)], pod)
				require.False(t, found[pod], "twice")
				found[pod] = true
			}
			require.Len(t, found, len(want))
		}
	}
}

// Whatever is done to it, in whatever order, the store answers as the simple map
// does, and every iteration shows one moment.
func TestTheStoreAnswersAsASimpleMapDoes(t *testing.T) {
	var did storeEffects
	for seed := range uint64(25) {
		program := make([]byte, 160)
		random := rand.New(rand.NewPCG(seed, 2))
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { did.add(playStore(t, program)) }) {
			return
		}
	}
	require.Greater(t, did.most, 2*chunkSize, "the store never had several chunks, so little was tried")
	require.Greater(t, did.updates, 100, "hardly any object was updated, so little was tried")
	require.Greater(t, did.deletions, 100, "hardly any object was deleted, so little was tried")
	require.Greater(t, did.moves, 100, "hardly any object moved into a gap, so little was tried")
	require.Greater(t, did.found, 1000, "hardly anything was found by loops that others overtook, so little was tried")
	require.Greater(t, did.left, 20, "hardly any loop was left early, so little was tried")
}

func FuzzStore(f *testing.F) {
	f.Add([]byte{1, 0, 10, 3, 2, 0, 6, 3, 4, 0})
	f.Fuzz(func(t *testing.T, program []byte) { playStore(t, program[:min(len(program), 400)]) })
}
