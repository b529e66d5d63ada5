package informer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// The chapter explains copy on write by this picture. If the store copies more, or
// less, or changes what a loop holds, the picture must show it.
func TestTheFigureOfCopyOnWriteShowsTheStore(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	for i := range 2*chunkSize + chunkSize/2 {
		store.Put(podOn(fmt.Sprint(i), ""))
	}
	film := &storeFilm{Canvas: figures.New(1022, "Copy on write of a store's chunks, frame by frame",
		"Six frames. A loop takes the store's slice of three chunks. The first change of an object copies its chunk and the slice; "+
			"the loop keeps the old ones. A second change in the same chunk copies nothing. A change in another chunk copies that "+
			"chunk only. When the loop ends, the old slice and chunks are garbage, and the next change happens in place.")}
	film.Text("head", 20, 32, "Copy on write, frame by frame")
	film.Rect("object", 20, 44, 10, 10, 2)
	film.Text("dim", 38, 54, "object")
	film.Rect("fill2", 110, 44, 10, 10, 2)
	film.Text("dim", 128, 54, "changed object")
	film.Text("dim", 20, 77, "A write copies a chunk that was born before the write's epoch.")
	film.first = store.now.chunks

	reading, loop := store.now.join(), store.now.chunks
	film.frame(store, loop, "A loop begins", "it takes the slice of chunks")
	film.write(store, loop, "An object changes", 70)
	film.write(store, loop, "Another one in its chunk", 99)
	film.write(store, loop, "One in another chunk", 12)
	reading.leave()
	film.garbage = loop
	film.frame(store, nil, "The loop ends", "what only it had is garbage")
	film.garbage = nil
	film.write(store, nil, "An object changes", 140)
	figurestest.Check(t, film.Canvas, "../chapters/02-store/copy-on-write.svg")
}

type podChunks = []*chunk[*corev1.Pod]

// storeFilm draws frames, two beside each other. What was there at first is below, and
// what was copied above.
type storeFilm struct {
	*figures.Canvas
	first, garbage podChunks
	frames         int
}

// write changes the object with that number, as Store.Put does, and draws a frame that
// says what was copied.
func (f *storeFilm) write(store *Store[*corev1.Pod], loop podChunks, title string, number int) {
	before, epoch := store.now.chunks, store.now.epochLocked()
	chunksBefore := slices.Clone(before)
	pod := podOn(fmt.Sprint(number), "")
	pod.ResourceVersion = "changed"
	store.now.put(KeyOf(pod), pod, nil, epoch)
	var copied []string
	if !isSameSlice(before, store.now.chunks) {
		copied = append(copied, "slice")
	}
	for i, c := range store.now.chunks {
		if c != chunksBefore[i] {
			copied = append(copied, fmt.Sprintf("chunk %d", i))
		}
	}
	if len(copied) == 0 {
		copied = []string{"nothing"}
	}
	f.frame(store, loop, title, fmt.Sprintf("epoch %d; copied: %s", epoch, strings.Join(copied, ", ")))
}

func isSameSlice(a, b podChunks) bool { return &a[0] == &b[0] }

const columnStep, chunkWidth = 80.0, 62.0

func (f *storeFilm) frame(store *Store[*corev1.Pod], loop podChunks, title, note string) {
	left, top := 20+310*float64(f.frames%2), 98+308*float64(f.frames/2)
	f.frames++
	f.Rect("panel", left-10, top-4, 300, 298, 8)
	f.Words("", left, top+17, figures.Word{Class: "dim", Text: fmt.Sprint(f.frames)}, figures.Word{Class: "bold", Text: title})
	f.Text("dim", left, top+38, note)
	f.slice("", "store", left, top, store.now.chunks, false)
	if loop != nil {
		f.slice("", "loop", left, top, loop, isSameSlice(loop, store.now.chunks))
	}
	if f.garbage != nil {
		f.slice("faded", "", left, top, f.garbage, false)
	}
	drawn := map[*chunk[*corev1.Pod]]bool{}
	for _, chunks := range []podChunks{store.now.chunks, loop, f.garbage} {
		for i, c := range chunks {
			if !drawn[c] {
				drawn[c] = true
				f.chunk(left+54+columnStep*float64(i), top, c, !slices.Contains(store.now.chunks, c) && loop == nil)
			}
		}
	}
}

// slice draws a slice of chunks with its owner, and an arrow to each chunk. A second
// owner of a slice is only named.
func (f *storeFilm) slice(class, owner string, left, top float64, chunks podChunks, second bool) {
	atFirst := isSameSlice(chunks, f.first)
	y := top + 52
	if atFirst {
		y = top + 266
	}
	if second {
		f.Text("bold", left, y+2, owner)
		return
	}
	f.Text("bold", left, y+17, owner)
	for i, c := range chunks {
		x := left + 54 + columnStep*float64(i)
		f.Rect("box "+class, x, y, chunkWidth, 22, 3)
		f.Text("small middle dim "+class, x+chunkWidth/2, y+16, fmt.Sprint(i))
		if end := f.topOf(c); atFirst {
			f.Arrow(class, x+chunkWidth/2, y, x+chunkWidth/2, top+end+chunkHeight+1)
		} else {
			f.Arrow(class, x+chunkWidth/2, y+22, x+chunkWidth/2, top+end-1)
		}
	}
}

const chunkHeight = 78.0

// topOf is how far below the top of a frame the chunk is drawn.
func (f *storeFilm) topOf(c *chunk[*corev1.Pod]) float64 {
	if slices.Contains(f.first, c) {
		return 176
	}
	return 88
}

// chunk draws the objects of a chunk, eight in a line.
func (f *storeFilm) chunk(x, top float64, c *chunk[*corev1.Pod], faded bool) {
	class := ""
	if faded {
		class = " faded"
	}
	y := top + f.topOf(c)
	f.Rect("box"+class, x, y, chunkWidth, chunkHeight, 4)
	squares := map[string][]float64{}
	for n, pod := range c.objects {
		kind := "empty"
		if pod != nil && pod.ResourceVersion != "" {
			kind = "fill2"
		} else if pod != nil {
			kind = "object"
		}
		squares[kind] = append(squares[kind], x+4+7*float64(n%8), y+4+7*float64(n/8))
	}
	for _, kind := range []string{"empty", "object", "fill2"} {
		f.Squares(kind+class, 6, squares[kind]...)
	}
	f.Text("small middle dim"+class, x+chunkWidth/2, y+73, fmt.Sprintf("born %d", c.born))
}
