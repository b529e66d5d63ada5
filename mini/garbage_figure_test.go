package mini_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// ownersPicture shows three objects in a row for each moment, with their owner references.
type ownersPicture struct {
	*figures.Canvas
	names  []string    // of the objects
	uids   []types.UID // of the objects
	bottom float64
}

func newOwnersPicture(title, desc string) *ownersPicture {
	p := &ownersPicture{Canvas: figures.New(0, title, desc), bottom: 8}
	p.Style(figures.StateStyle())
	return p
}

func (p *ownersPicture) check(t *testing.T, file string) {
	p.Resize(480, int(p.bottom)+8)
	figurestest.Check(t, p.Canvas, "../chapters/29-garbage/"+file)
}

func (p *ownersPicture) heading(text string) {
	p.Text("bold", 12, p.bottom+22, text)
	p.bottom += 32
}

// row draws the objects. One that isn't there is nil.
func (p *ownersPicture) row(what string, objs ...metav1.Object) {
	const left, pitch, width, height = 126, 118, 94, 38
	middle := p.bottom + 26
	p.Line("grid", 8, p.bottom, 472, p.bottom)
	p.TextBlock("small", 12, middle, what)
	p.bottom += 52
	x := func(i int) float64 { return left + float64(pitch*i) }
	nothing := true
	for i, obj := range objs {
		if obj == nil {
			continue
		}
		nothing = false
		class, text := "well", p.names[i]
		if obj.GetDeletionTimestamp() != nil {
			class, text = "ending", text+"\nending"
		}
		p.Rect("state "+class, x(i), middle-height/2, width, height, 6)
		p.TextBlock("small middle", x(i)+width/2, middle, text)
		for _, ref := range obj.GetOwnerReferences() {
			blocks := "dashed"
			if *ref.BlockOwnerDeletion {
				blocks = ""
			}
			owner := slices.Index(p.uids, ref.UID)
			if owner < i {
				p.Arrow(blocks, x(i), middle, x(owner)+width, middle)
				continue
			}
			from, to, below := x(i)+width/2, x(owner)+width/2, middle+28
			p.Line(blocks, from, middle+height/2, from, below, to, below)
			p.Arrow(blocks, to, below, to, middle+height/2)
			p.bottom = below + 8
		}
	}
	if nothing {
		p.TextBlock("small middle dim", x(1)+width/2, middle, "nothing is left")
	}
}

// orNil is the object, or nil if it isn't there.
func orNil[T metav1.Object](obj T, err error) metav1.Object {
	if err != nil {
		return nil
	}
	return obj
}

// drained sets or removes the finalizer of another process, which drains Pods a and b.
func (w *world) drained(finalizers ...string) {
	w.Helper()
	for _, name := range []string{"a", "b"} {
		pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
		require.NoError(w, err)
		pod.Finalizers = finalizers
		_, err = w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
	}
}

// The chapter shows what the three policies do to a Deployment, its ReplicaSet and a Pod.
func TestTheFigureOfThePoliciesShowsWhatTheyLeave(t *testing.T) {
	p := newOwnersPicture("Three policies",
		"A Deployment is deleted that owns a ReplicaSet, which owns a Pod. In the "+
			"background, Deployment and ReplicaSet go at once, and the Pod is ending. In "+
			"the foreground, all three are ending until the Pod has been drained. With "+
			"orphan, the ReplicaSet stays without an owner, and so does its Pod.")
	p.names = []string{"Deployment", "ReplicaSet", "Pod"}
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan,
	} {
		p.heading(string(policy))
		inMemory(t, func(w *world) {
			w.runGarbage()
			d, rs := w.tree()
			w.drained("example.com/drain")
			p.uids = []types.UID{d.UID, rs.UID}
			get := metav1.GetOptions{}
			row := func(what string) (pod metav1.Object) {
				synctest.Wait()
				pod = orNil(w.Other.CoreV1().Pods("default").Get(w.ctx, "a", get))
				p.row(what,
					orNil(w.Other.AppsV1().Deployments("default").Get(w.ctx, "web", get)),
					orNil(w.Other.AppsV1().ReplicaSets("default").Get(w.ctx, "web", get)), pod)
				return pod
			}
			row("before")
			w.deleteDeployment(policy)
			if pod := row("the Deployment\nis deleted"); pod.GetDeletionTimestamp() != nil {
				w.drained()
				row("the Pod has\nbeen drained")
			}
		})
	}
	p.check(t, "policies.svg")
}

// The chapter shows how a circle of owners is opened. A finalizer on B stops the cascade at
// this moment.
func TestTheFigureOfACircleShowsWhereItIsOpened(t *testing.T) {
	p := newOwnersPicture("A circle of owners",
		"A owns B, B owns C, and C owns A. After A is deleted in the foreground, all "+
			"three are ending, and the reference from C to B no longer blocks: B doesn't "+
			"wait for C. So B goes, then A, then C.")
	inMemory(t, func(w *world) {
		w.runGarbage()
		maps, get := w.Other.CoreV1().ConfigMaps("default"), metav1.GetOptions{}
		update := func(m *corev1.ConfigMap) {
			_, err := maps.Update(w.ctx, m, metav1.UpdateOptions{})
			require.NoError(w, err)
		}
		a := w.configMap("a")
		b := w.configMap("b", ownerRef("ConfigMap", a))
		c := w.configMap("c", ownerRef("ConfigMap", b))
		p.names, p.uids = []string{"A", "B", "C"}, []types.UID{a.UID, b.UID, c.UID}
		a.OwnerReferences = []metav1.OwnerReference{ownerRef("ConfigMap", c)}
		update(a)
		b.Finalizers = []string{"example.com/drain"}
		update(b)
		row := func(what string) {
			synctest.Wait()
			p.row(what, orNil(maps.Get(w.ctx, "a", get)), orNil(maps.Get(w.ctx, "b", get)),
				orNil(maps.Get(w.ctx, "c", get)))
		}
		row("before")
		w.deleteConfigMap("a", metav1.DeletePropagationForeground)
		row("A is deleted")
		b, err := maps.Get(w.ctx, "b", get)
		require.NoError(w, err)
		b.Finalizers = nil
		update(b)
		row("in the end")
	})
	p.check(t, "circle.svg")
}
