// Command naive has a controller whose unit tests pass, and an answer that gets lost.
package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/chapters/19-testing/stage"
	"github.com/loopwright/loopwright/chapters/19-testing/unit"
	"github.com/loopwright/loopwright/chapters/19-testing/website"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() {
	demo.Main("Chapter 19, naive: a green test", story,
		demo.Predict(3, "what do visitors of news see a minute later?", "the last line"))
}

func story(ctx context.Context, d *demo.Demo) error {
	err := d.Step("1. The unit tests run on a fake client", func() error {
		for _, test := range unit.Tests {
			if err := test.Run(website.Careful); err != nil {
				return err
			}
			d.Say("ok: %s", test.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	wrap := func(next http.RoundTripper) http.RoundTripper { return &lossy{next: next, say: d.Say} }
	return stage.With(ctx, d, website.Careful, wrap, func(s *stage.Stage) error {
		err := d.Step("2. A user creates shop on a cluster", func() error { return s.Open(ctx, "shop") })
		if err != nil {
			return err
		}
		return d.Step("3. A user creates news, and one answer gets lost", func() error {
			return s.Open(ctx, "news")
		})
	})
}

// lossy is a connection that loses one answer: to the first update of news.
type lossy struct {
	next http.RoundTripper
	say  func(format string, args ...any)
	lost atomic.Bool
}

// RoundTrip sends the request.
func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err != nil || r.Method != "PUT" || !strings.HasSuffix(r.URL.Path, "/websites/news") || l.lost.Swap(true) {
		return response, err
	}
	_ = response.Body.Close()
	l.say("The API server has updated news, and its answer gets lost.")
	time.Sleep(200 * time.Millisecond) // it takes a while to notice
	return nil, errors.New("the connection broke")
}
