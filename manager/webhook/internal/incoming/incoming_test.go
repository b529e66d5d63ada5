package incoming

import (
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever sends may say anything about the length. What counts is what comes.
func TestABodyIsReadWholeWhateverItsHeaderSays(t *testing.T) {
	const limit = 200_000
	for _, length := range []int{1, 511, 512, 513, roomAhead - 1, roomAhead, roomAhead + 1, limit - 1, limit} {
		want := strings.Repeat("x", length)
		for _, said := range []int64{-1, 0, 1, int64(length) - 1, int64(length), int64(length) + 1, limit, 1 << 60} {
			for _, from := range []io.Reader{strings.NewReader(want), iotest.DataErrReader(strings.NewReader(want))} {
				request := httptest.NewRequest("POST", "/", from)
				request.ContentLength = said
				body, wrong := Body(request, limit)
				require.Nil(t, wrong)
				require.True(t, want == string(body), "length %d, said to be %d: %d bytes were read", length, said, len(body))
			}
		}
	}
}

func TestABodyThatIsTooLongIsRefused(t *testing.T) {
	for _, said := range []int64{-1, 1001, 5} {
		request := httptest.NewRequest("POST", "/", io.LimitReader(endless{}, 1001))
		request.ContentLength = said
		body, wrong := Body(request, 1000)
		require.EqualValues(t, 413, wrong.Code)
		require.LessOrEqual(t, len(body), 1001)
	}
}

// The beginning is needed: it has the UID, without which the answer is lost.
func TestOfABodyThatBreaksOffTheBeginningIsKept(t *testing.T) {
	request := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("beginning"), iotest.ErrReader(errors.New("cut"))))
	body, wrong := Body(request, 1000)
	require.Equal(t, "beginning", string(body))
	require.ErrorContains(t, wrong, "cut")
}

func TestAHeaderAloneAllocatesLittle(t *testing.T) {
	body, err := readUpTo(1<<40, strings.NewReader("x"), 1<<39)
	require.NoError(t, err)
	require.LessOrEqual(t, cap(body), 2*roomAhead)
}

func TestTheContextEndsWhenTheAddressSays(t *testing.T) {
	for text, limited := range map[string]bool{
		"": false, "timeout=10s": true, "timeout=1.5m": true, "timeout=10": false, "timeout=-1s": false, "timeout=": false,
		"a=b&timeout=10s": true, "timeout=10s&a=b": true, "timeout=10%73": true, "timeout=+10s": false, "nottimeout=10s": false,
	} {
		ctx, cancel := Awaited(t.Context(), &url.URL{RawQuery: text})
		at, has := ctx.Deadline()
		require.Equal(t, limited, has, text)
		require.True(t, !has || time.Until(at) > 0)
		cancel()
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
