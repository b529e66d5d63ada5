// Package film makes a moving picture of screenshots: a GIF, which every browser and GitHub show, and
// whose frames have only what has changed since the one before.
//
// Neighbours: above it are the tests in a browser, which take the screenshots.
package film

import (
	"cmp"
	"image"
	"image/color"
	"image/gif"
	"io"
	"maps"
	"slices"
	"time"
)

// Frame is what's seen for a while.
type Frame struct {
	Picture image.Image
	Lasts   time.Duration
}

// most is how many colors a GIF has, without the one that lets the frame before be seen.
const most = 255

// Encode writes frames of one size as a GIF that starts again after its end.
func Encode(w io.Writer, frames []Frame) error {
	pictures := make([]*image.RGBA, len(frames))
	counts := map[color.RGBA]int{}
	for i, f := range frames {
		pictures[i] = rgba(f.Picture)
		var before *image.RGBA
		if i > 0 {
			before = pictures[i-1]
		}
		count(counts, pictures[i], before)
	}
	colors := newColors(counts)
	film := &gif.GIF{}
	var now time.Duration // of what has been shown
	var shown *image.Paletted
	written := 0 // hundredths of a second, which round what has been shown
	for i, f := range frames {
		now += f.Lasts
		upTo := int(now.Round(10*time.Millisecond) / (10 * time.Millisecond))
		next := colors.paint(pictures[i])
		if changed := colors.changed(shown, next); changed != nil {
			film.Image = append(film.Image, changed)
			film.Disposal = append(film.Disposal, gif.DisposalNone)
			film.Delay = append(film.Delay, 0)
		}
		film.Delay[len(film.Delay)-1] += upTo - written
		written, shown = upTo, next
	}
	return gif.EncodeAll(w, film)
}

func rgba(picture image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, picture.Bounds().Dx(), picture.Bounds().Dy()))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.Set(x, y, picture.At(picture.Bounds().Min.X+x, picture.Bounds().Min.Y+y))
		}
	}
	return out
}

// count adds the colors of what is new in a picture.
func count(counts map[color.RGBA]int, picture, before *image.RGBA) {
	for y := range picture.Rect.Dy() {
		for x := range picture.Rect.Dx() {
			if c := picture.RGBAAt(x, y); before == nil || before.RGBAAt(x, y) != c {
				counts[c]++
			}
		}
	}
}

// colors is a palette, in which the last color is no color: the frame before is seen there.
type colors struct {
	palette color.Palette
	nearest map[color.RGBA]uint8
}

// newColors takes the most frequent colors, and none that is close to one that it has taken.
func newColors(counts map[color.RGBA]int) *colors {
	c := &colors{nearest: map[color.RGBA]uint8{}}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(number(a), number(b)))
	})
	for _, apart := range []int{24 * 24, 8 * 8, 1} { // first those that differ, then shades
		for _, next := range frequent {
			if len(c.palette) < most && c.distance(next) >= apart {
				c.palette = append(c.palette, next)
			}
		}
	}
	c.palette = append(c.palette, color.RGBA{})
	return c
}

func number(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

// distance is that to the closest color of the palette, squared.
func (c *colors) distance(to color.RGBA) int {
	closest := 1 << 30
	for _, each := range c.palette {
		closest = min(closest, apart(each.(color.RGBA), to))
	}
	return closest
}

func apart(a, b color.RGBA) int {
	r, g, blue := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + blue*blue
}

// paint is a picture in the colors of the palette.
func (c *colors) paint(picture *image.RGBA) *image.Paletted {
	out := image.NewPaletted(picture.Rect, c.palette)
	for y := range picture.Rect.Dy() {
		for x := range picture.Rect.Dx() {
			pixel := picture.RGBAAt(x, y)
			index, known := c.nearest[pixel]
			if !known {
				index = c.index(pixel)
				c.nearest[pixel] = index
			}
			out.Pix[y*out.Stride+x] = index
		}
	}
	return out
}

func (c *colors) index(of color.RGBA) uint8 {
	best := 0
	for i, each := range c.palette[:len(c.palette)-1] {
		if apart(each.(color.RGBA), of) < apart(c.palette[best].(color.RGBA), of) {
			best = i
		}
	}
	return uint8(best)
}

// changed is the part of next in which it differs from shown, or nil if there's none. What's the same
// inside of it lets the frame before be seen.
func (c *colors) changed(shown, next *image.Paletted) *image.Paletted {
	if shown == nil {
		return next
	}
	var where image.Rectangle
	for y := range next.Rect.Dy() {
		for x := range next.Rect.Dx() {
			if at := y*next.Stride + x; shown.Pix[at] != next.Pix[at] {
				where = where.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if where.Empty() {
		return nil
	}
	part := image.NewPaletted(where, c.palette)
	for y := where.Min.Y; y < where.Max.Y; y++ {
		for x := where.Min.X; x < where.Max.X; x++ {
			index := next.ColorIndexAt(x, y)
			if index == shown.ColorIndexAt(x, y) {
				index = uint8(len(c.palette) - 1)
			}
			part.SetColorIndex(x, y, index)
		}
	}
	return part
}
