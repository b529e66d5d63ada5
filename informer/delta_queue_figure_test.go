package informer

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// lifeOfAKey is what the figures of the delta queue and of the informer show: an object changes, is
// deleted, and another one gets its name.
var lifeOfAKey = []Event[*corev1.Pod]{
	{Type: watch.Added, Object: podAt("a", "1")},
	{Type: watch.Modified, Object: podAt("a", "2")},
	{Type: watch.Modified, Object: podAt("a", "3")},
	{Type: watch.Modified, Object: podAt("a", "4")},
	{Type: watch.Deleted, Object: podAt("a", "5")},
	{Type: watch.Added, Object: podAt("b", "6")},
}

// The chapter explains by this picture what is kept for a key. If the queue keeps
// something else, or hands over something else, the picture must show it.
func TestTheFigureOfAPendingKeyShowsTheDeltaQueue(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	queue := NewDeltaQueue(store, DeltaQueueOptions{})
	key := KeyOf(lifeOfAKey[0].Object)
	lanes := &laneFigure{Canvas: figures.New(538, "What the delta queue keeps for one key while the consumer sleeps",
		"Three lanes: the events of the watch, what the queue holds after each, and what the consumer would be handed. The consumer "+
			"takes the first event and sleeps. Three updates, a deletion and a second object of the same name follow. The queue "+
			"always holds one entry, and the consumer gets three deltas when it wakes: Updated, Deleted, Added.")}
	lanes.begin("One key while the consumer sleeps", "watch", "delta queue: the entry", "consumer")
	var batch Batch[*corev1.Pod]
	for i, event := range lifeOfAKey {
		queue.Apply(event)
		entry := queue.buffer.queue.find(key).value.coalesced
		known, has := store.Get(key)
		lanes.row(i > 0, []figures.Word{{Text: string(event.Type)}, wordOf(event.Object)}, reflect.ValueOf(entry), inWordsOf(entry.deltas(nil, key, known, has)))
		if i == 0 {
			queue.Pop(&batch)
			applyTo(store, batch.Deltas)
		}
	}
	queue.Pop(&batch)
	lanes.end(inWordsOf(batch.Deltas))
	figurestest.Check(t, lanes.Canvas, "../chapters/04-informer/pending.svg")
}

func applyTo(store *Store[*corev1.Pod], deltas []Delta[*corev1.Pod]) {
	for _, delta := range deltas {
		if delta.Type == DeltaDeleted {
			store.Delete(delta.Key)
		} else {
			store.Put(delta.Object)
		}
	}
}

// wordOf is the object's UID and version, in the colour of its UID.
func wordOf(pod *corev1.Pod) figures.Word {
	colour := map[string]string{"a": "fill1", "b": "fill2"}[string(pod.UID)]
	return figures.Word{Class: "code bold " + colour, Text: string(pod.UID) + pod.ResourceVersion}
}

func inWordsOf(deltas []Delta[*corev1.Pod]) (lines [][]figures.Word) {
	for _, delta := range deltas {
		line := []figures.Word{{Text: delta.Type.String()}}
		if delta.Type == DeltaUpdated {
			line = append(line, wordOf(delta.Old), figures.Word{Class: "dim", Text: "to"})
		}
		lines = append(lines, append(line, wordOf(delta.Object)))
	}
	return lines
}

// laneFigure has time go down, and three lanes: what comes, what is kept, and what is
// handed over.
type laneFigure struct {
	*figures.Canvas
	rows int
}

const lane1, lane2, lane3, laneTop, laneStep = 34.0, 204.0, 446.0, 118.0, 58.0

func (l *laneFigure) begin(title string, lanes ...string) {
	l.Text("head", 20, 32, title)
	l.Words("dim", 20, 55, wordOf(podAt("a", "2")), figures.Word{Text: "is the object with UID a, at version 2"})
	for i, x := range []float64{lane1, lane2, lane3} {
		width := []float64{158, 230, 180}[i]
		l.Rect("panel", x-14, laneTop-46, width, laneStep*float64(len(lifeOfAKey)+1)+40, 8)
		l.Text("bold", x, laneTop-22, lanes[i])
	}
	l.Rect("asleep", lane3-8, laneTop+laneStep-8, 168, laneStep*float64(len(lifeOfAKey)-1)-2, 6)
}

// row is one more thing that comes. What is kept is shown field by field, as the real
// struct has it: its objects with their names, and below them the flags that are set.
func (l *laneFigure) row(asleep bool, comes []figures.Word, kept reflect.Value, hands [][]figures.Word) {
	y := laneTop + laneStep*float64(l.rows)
	l.rows++
	l.Words("", lane1, y+22, comes...)
	l.Arrow("", lane2-32, y+17, lane2-10, y+17)
	l.Rect("box", lane2-8, y-6, 220, laneStep-12, 6)
	objects, flags := fieldsOf(kept)
	l.Words("", lane2, y+13, objects...)
	l.Text("small dim", lane2, y+31, strings.Join(flags, ", "))
	if asleep {
		if l.rows == 2 {
			l.Text("small dim", lane3, y+8, "asleep; it would get")
		}
		l.hand("dim", y+4, hands)
		return
	}
	l.Arrow("", lane3-26, y+17, lane3-8, y+17)
	l.hand("", y, hands)
}

func (l *laneFigure) hand(class string, y float64, lines [][]figures.Word) {
	height := 20.0
	if len(lines) > 2 {
		height = 16
	}
	for i, line := range lines {
		l.Words(class, lane3, y+22+height*(float64(i)-float64(len(lines)-1)/2), line...)
	}
}

// end is the moment in which the sleeper wakes.
func (l *laneFigure) end(hands [][]figures.Word) {
	y := laneTop + laneStep*float64(l.rows)
	l.Text("dim", lane2, y+22, "it wakes; empty again")
	l.Arrow("", lane3-26, y+17, lane3-8, y+17)
	l.hand("bold", y, hands)
}

// fieldsOf lists the pods that a struct holds, and the flags that are set.
func fieldsOf(value reflect.Value) (pods []figures.Word, flags []string) {
	for i := range value.NumField() {
		name, field := value.Type().Field(i).Name, value.Field(i)
		switch {
		case field.Type() == reflect.TypeFor[*corev1.Pod]() && !field.IsNil():
			pods = append(pods, figures.Word{Class: "dim", Text: name}, wordOf((*corev1.Pod)(field.UnsafePointer())))
		case field.Kind() == reflect.Bool && field.Bool():
			flags = append(flags, name)
		}
	}
	return pods, flags
}
