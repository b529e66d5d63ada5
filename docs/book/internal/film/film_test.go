package film

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// frame is a picture with a square at x.
func frame(x int, lasts time.Duration) Frame {
	picture := image.NewRGBA(image.Rect(10, 20, 110, 80)) // a screenshot may be a part of another
	draw.Draw(picture, picture.Rect, image.NewUniform(color.RGBA{240, 240, 240, 255}), image.Point{}, draw.Src)
	draw.Draw(picture, image.Rect(10+x, 30, 20+x, 40), image.NewUniform(color.RGBA{200, 30, 30, 255}), image.Point{}, draw.Src)
	return Frame{picture, lasts}
}

func encode(t *testing.T, frames ...Frame) *gif.GIF {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, Encode(&file, frames))
	film, err := gif.DecodeAll(&file)
	require.NoError(t, err)
	return film
}

// What a browser shows is each frame over the ones before it.
func TestAFilmShowsWhatWasSeen(t *testing.T) {
	frames := []Frame{frame(0, time.Second), frame(5, time.Second), frame(5, time.Second), frame(40, time.Second)}
	film := encode(t, frames...)
	require.Len(t, film.Image, 3, "a picture that's the same lasts longer")
	require.Equal(t, []int{100, 200, 100}, film.Delay)
	screen := image.NewRGBA(image.Rect(0, 0, film.Config.Width, film.Config.Height))
	for i, want := range []Frame{frames[0], frames[1], frames[3]} {
		draw.Draw(screen, film.Image[i].Rect, film.Image[i], film.Image[i].Rect.Min, draw.Over)
		require.Equal(t, rgba(want.Picture).Pix, screen.Pix, "frame %d", i)
	}
	require.Equal(t, image.Rect(0, 10, 15, 20), film.Image[1].Rect, "only what has changed is written")
}

// Delays are hundredths of a second. Rounding each of them would make a film of a minute seconds too long.
func TestAFilmLastsAsLongAsItsFrames(t *testing.T) {
	var frames []Frame
	for i := range 90 {
		frames = append(frames, frame(i, 33333*time.Microsecond))
	}
	sum := 0
	for _, delay := range encode(t, frames...).Delay {
		sum += delay
	}
	require.Equal(t, 300, sum)
}

// A gradient has more colors than a GIF, and mustn't cost the one of the text.
func TestAFilmOfMoreColorsThanAGIFHasKeepsThoseThatDiffer(t *testing.T) {
	picture := image.NewRGBA(image.Rect(0, 0, 256, 256))
	for y := range 256 {
		for x := range 256 {
			picture.Set(x, y, color.RGBA{0, uint8(x), uint8(y), 255})
		}
	}
	picture.Set(7, 7, color.RGBA{255, 0, 0, 255})
	film := encode(t, Frame{picture, time.Second})
	for y := range 256 {
		for x := range 256 {
			want, got := picture.RGBAAt(x, y), color.RGBAModel.Convert(film.Image[0].At(x, y)).(color.RGBA)
			require.Less(t, apart(want, got), 48*48, "%v became %v", want, got)
		}
	}
	require.Equal(t, color.RGBA{255, 0, 0, 255}, color.RGBAModel.Convert(film.Image[0].At(7, 7)))
}
