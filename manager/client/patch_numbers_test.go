package client

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An order's ID would arrive as another one, because somebody ticked it off. That happened as long
// as the library that takes the difference decoded numbers as float64.
func TestAMergePatchLeavesNumbersAsTheyAre(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		orders := func(done bool) []any {
			return []any{map[string]any{"id": int64(1541815603606036481), "done": done}}
		}
		change := func(u *unstructured.Unstructured, done bool, next int64) {
			u.Object["spec"] = map[string]any{"orders": orders(done), "next": next}
		}
		mine := widget("w")
		change(mine, false, 9007199254740992)
		w.mustCreate(mine)
		before := mine.DeepCopy()
		change(mine, true, 9007199254740993)
		require.NoError(w, w.Patch(w.Context(), mine, MergeFrom(before)))

		read := widget("w")
		require.NoError(w, w.Get(w.Context(), ObjectKeyFromObject(mine), read))
		require.Equal(w, map[string]any{"orders": orders(true), "next": int64(9007199254740993)},
			read.Object["spec"])
	})
}

// document is an object of any content.
type document struct {
	Object
	text string
}

// MarshalJSON implements json.Marshaler.
func (d document) MarshalJSON() ([]byte, error) { return []byte(d.text), nil }

// Applying the patch to the old object gives the new one, to the last digit, with the library that an
// API server applies it with. A merge patch says null to remove a member, so one that is null is one
// that isn't there.
func FuzzAMergePatchTurnsTheOldObjectIntoTheNewOne(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":9007199254740993}]},"d":null}`, `{"a":{"b":[1,{"c":9007199254740992}]}}`)
	f.Add(`{"n":9007199254740992,"u":0}`, `{"n":9007199254740993,"u":18446744073709551615}`)
	f.Add(`{"a":1}`, `{"a":{"b":{"c":{}}}}`)
	f.Add(`{"a":{"b":1}}`, `{"a":null,"f":0.1000000000000000055511151231257827}`)
	f.Add(`{"":{"":1e1}}`, `{"":{"":10}}`)
	f.Add(`{"a":"\u003c"}`, `{"a":"<","b":"\ud800"}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		was, isObject := decoded(before)
		is, isObjectToo := decoded(after)
		if !isObject || !isObjectToo {
			t.Skip("an object in Go is always a JSON object")
		}
		patch, err := MergeFrom(document{text: before}).Data(document{text: after})
		require.NoError(t, err)
		old, err := json.Marshal(was)
		require.NoError(t, err)
		merged, err := jsonpatch.MergePatch(old, patch)
		require.NoError(t, err)
		got, _ := decoded(string(merged))
		require.Equal(t, is, got, "%s -> %s: %s", before, after, patch)
	})
}

// decoded is a JSON object without the members that are null.
func decoded(text string) (value map[string]any, isObject bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || decoder.More() {
		return nil, false
	}
	withoutNull(value)
	return value, value != nil
}

func withoutNull(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if withoutNull(member); member == nil {
				delete(value, name)
			}
		}
	case []any:
		for _, element := range value {
			withoutNull(element)
		}
	}
}
