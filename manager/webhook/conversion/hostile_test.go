package conversion

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A body that's a ConversionReview is answered with its UID and a verdict, whatever is in it. The
// API server shows the user a reason then, and no "connection reset".
func TestWhateverIsInAReviewItsAnswerHasItsUIDAndAVerdict(t *testing.T) {
	good := object("v1", "first", `"look":"yellow 12"`)
	for name, c := range map[string]struct {
		desired, objects string
		works            bool
	}{
		"good":                       {"shop.example/v2", "[" + good + "]", true},
		"no objects":                 {"shop.example/v2", "[]", true},
		"null in place of a list":    {"shop.example/v2", "null", true},
		"null in place of an object": {"shop.example/v2", "[null]", false},
		"a number":                   {"shop.example/v2", "[7]", false},
		"a text":                     {"shop.example/v2", `["banana"]`, false},
		"an object with nothing":     {"shop.example/v2", "[{}]", false},
		"no metadata": {"shop.example/v2",
			`[{"apiVersion":"shop.example/v1","kind":"Banana","look":"yellow 12"}]`, true},
		"metadata of null": {"shop.example/v2",
			`[{"apiVersion":"shop.example/v1","kind":"Banana","metadata":null,"look":"a 1"}]`, true},
		"metadata of another type": {"shop.example/v2",
			`[{"apiVersion":"shop.example/v1","kind":"Banana","metadata":[]}]`, false},
		"a list of them": {"shop.example/v2",
			`[{"apiVersion":"shop.example/v1","kind":"BananaList","items":[]}]`, false},
		"no version":                {"", "[" + good + "]", false},
		"a version that's none":     {"a/b/c", "[" + good + "]", false},
		"a version nobody knows":    {"shop.example/v9", "[" + good + "]", false},
		"the same version":          {"shop.example/v1", "[" + good + "]", false},
		"another group":             {"apps/v1", "[" + good + "]", false},
		"the second one is damaged": {"shop.example/v2", "[" + good + ",{}]", false},
	} {
		for way, hook := range handlers(t) {
			t.Run(name+", "+way, func(t *testing.T) {
				body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1",`+
					`"kind":"ConversionReview","request":{"uid":"705ab4f5",`+
					`"desiredAPIVersion":%q,"objects":%s}}`, c.desired, c.objects)
				answer := post(hook, "application/json", []byte(body))
				require.Equal(t, http.StatusOK, answer.Code)
				var review struct {
					Response struct {
						UID              string
						ConvertedObjects []json.RawMessage
						Result           struct{ Status, Message string }
					}
				}
				require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &review))
				require.Equal(t, "705ab4f5", review.Response.UID)
				if c.works {
					require.Equal(t, "Success", review.Response.Result.Status,
						review.Response.Result.Message)
					return
				}
				require.Equal(t, "Failure", review.Response.Result.Status)
				require.NotEmpty(t, review.Response.Result.Message)
				require.Empty(t, review.Response.ConvertedObjects, "half of an answer")
			})
		}
	}
}

// A conversion that works on what it was given must not see what the last one left there.
func TestManyConversionsAtOnceDoNotMixTheirObjects(t *testing.T) {
	const many = 50
	hooks := handlers(t)
	hooks["all at once"] = atOnce(t, many)
	for _, hook := range hooks {
		done := make(chan error, many)
		for n := range cap(done) {
			go func() {
				name := fmt.Sprint("banana-", n)
				body, err := json.Marshal(question("shop.example/v3",
					object("v1", name, fmt.Sprintf(`"look":"yellow %d"`, n))))
				if err == nil {
					answer := post(hook, "application/json", body).Body.String()
					var review struct {
						Response struct {
							ConvertedObjects []struct {
								Metadata struct{ Name string }
								Length   int
							}
						}
					}
					err = json.Unmarshal([]byte(answer), &review)
					all := review.Response.ConvertedObjects
					if err == nil && (len(all) != 1 || all[0].Metadata.Name != name ||
						all[0].Length != n) {
						err = fmt.Errorf("%s became %s", name, answer)
					}
				}
				done <- err
			}()
		}
		for range cap(done) {
			require.NoError(t, <-done)
		}
	}
}

// atOnce is a handler that converts from v1 to v3. No conversion begins before there are n of them,
// and none returns before all have an object.
func atOnce(t *testing.T, n int) http.Handler {
	t.Helper()
	meet := func() func() {
		var all sync.WaitGroup
		all.Add(n)
		return func() { all.Done(); all.Wait() }
	}
	begin, end := meet(), meet()
	converter, err := NewHubSpokeConverter(&bananaV2{},
		NewSpokeConverter(&bananaV1{},
			func(_ context.Context, hub *bananaV2, spoke *bananaV1) error {
				return spoke.ConvertFrom(hub)
			},
			func(_ context.Context, spoke *bananaV1, hub *bananaV2) error {
				begin()
				return spoke.ConvertTo(hub)
			}),
		NewSpokeConverter(&bananaV3{},
			func(_ context.Context, hub *bananaV2, spoke *bananaV3) error {
				defer end()
				return spoke.ConvertFrom(hub)
			},
			func(_ context.Context, spoke *bananaV3, hub *bananaV2) error {
				return spoke.ConvertTo(hub)
			}),
	)(bananas())
	require.NoError(t, err)
	registry := NewRegistry()
	require.NoError(t, registry.RegisterConverter(
		schema.GroupKind{Group: "shop.example", Kind: "Banana"}, converter))
	return NewWebhookHandler(bananas(), registry)
}
