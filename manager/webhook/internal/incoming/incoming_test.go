package incoming

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever sends may say anything about the length. What counts is what comes.
func TestABodyIsReadWholeWhateverItsHeaderSays(t *testing.T) {
	const limit = 200_000
	for _, length := range []int{1, 511, 512, 513, (64 << 10) - 1, (64 << 10), (64 << 10) + 1, limit - 1, limit} {
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
		request := httptest.NewRequest("POST", "/", endless{})
		request.ContentLength = said
		body, wrong := Body(request, 1000)
		require.EqualValues(t, 413, wrong.Code)
		require.Len(t, body, 1001, "the beginning is needed, and no more is read than shows that there is too much")
	}
}

func TestARequestWithoutABodyIsRefused(t *testing.T) {
	for _, request := range []*http.Request{{}, httptest.NewRequest("POST", "/", strings.NewReader(""))} {
		body, wrong := Body(request, 1000)
		require.Empty(t, body)
		require.Equal(t, &Error{http.StatusBadRequest, "request body is empty"}, wrong)
	}
}

// The beginning is needed: it has the UID, without which the answer is lost.
func TestOfABodyThatBreaksOffTheBeginningIsKept(t *testing.T) {
	request := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("beginning"), iotest.ErrReader(errors.New("cut"))))
	body, wrong := Body(request, 1000)
	require.Equal(t, "beginning", string(body))
	require.ErrorContains(t, wrong, "cut")
}

// HTTP libraries of other languages say more than the API server does.
func TestABodyOfJSONSaysThatItIsOne(t *testing.T) {
	for _, c := range []struct {
		contentType string
		is          bool
	}{
		{"application/json", true}, {"application/json; charset=utf-8", true}, {"Application/JSON", true},
		{"", false}, {"text/plain", false}, {"application/json;", true}, {"application/json; charset", false}, {"application/jsonl", false},
	} {
		request := httptest.NewRequest("POST", "/", nil)
		request.Header.Set("Content-Type", c.contentType)
		wrong := JSON(request)
		if c.is {
			require.Nil(t, wrong, c.contentType)
			continue
		}
		require.Equal(t, &Error{http.StatusBadRequest, "contentType=" + c.contentType + ", expected application/json"}, wrong)
	}
}

func TestTheCauseSaysHowLongTheAPIServerHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := Awaited(t.Context(), &url.URL{RawQuery: "timeout=1.5m"})
		defer cancel()
		<-ctx.Done()
		require.EqualError(t, context.Cause(ctx), "the API server no longer waits for the answer after 1m30s")
	})
}

func TestTheContextEndsWhenTheAddressSays(t *testing.T) {
	for text, limited := range map[string]bool{
		"": false, "timeout=10s": true, "timeout=1.5m": true, "timeout=10": false, "timeout=-1s": false, "timeout=": false, "timeout=0s": false, "10s": false,
		"a=b&timeout=10s": true, "timeout=10s&a=b": true, "timeout=10%73": true, "timeout=+10s": false, "nottimeout=10s": false,
	} {
		ctx, cancel := Awaited(t.Context(), &url.URL{RawQuery: text})
		at, has := ctx.Deadline()
		require.Equal(t, limited, has, text)
		require.True(t, !has || time.Until(at) > 0)
		cancel()
	}
	ctx, cancel := Awaited(t.Context(), nil)
	defer cancel()
	_, has := ctx.Deadline()
	require.False(t, has, "a request in a test may have no address")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
