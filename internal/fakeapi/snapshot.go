package fakeapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/sharding"
)

// A snapshot is the content of a table at one resourceVersion: it cannot
// change while it is paged through.
type snapshot struct {
	keys []string
	at   func(key string) *version
}

// now is the current content. It is only valid until the next write.
func (t *table) now() snapshot {
	return snapshot{keys: t.keys, at: func(key string) *version { return t.live[key] }}
}

// asOf is the content at rv, found by undoing every later change, newest
// first. ok is false if rv lies before the remembered past.
//
// The real server keeps B-tree snapshots for this. Undoing costs the number
// of changes since rv, which is small for the pages of one list.
func (t *table) asOf(rv uint64) (snapshot, bool) {
	later, ok := t.since(rv)
	if !ok {
		return snapshot{}, false
	}
	if len(later) == 0 {
		return t.now(), true
	}
	undone := map[string]*version{}
	for _, c := range slices.Backward(later) {
		undone[c.key] = c.before
	}
	keys := make([]string, 0, len(t.keys)+len(undone))
	for _, key := range t.keys {
		if _, touched := undone[key]; !touched {
			keys = append(keys, key)
		}
	}
	for key, v := range undone {
		if v != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return snapshot{keys: keys, at: func(key string) *version {
		if v, touched := undone[key]; touched {
			return v
		}
		return t.live[key]
	}}, true
}

// A selection says which objects a list or watch is about.
type selection struct {
	prefix string // the namespace and a slash, or nothing
	labels labels.Selector
	fields fields.Selector
	shard  sharding.Selector // nil selects all
}

// everything says whether nothing is selected by labels or fields. The real server 1.36 forgets the
// shard here, so among the objects that are left on later pages it counts those of other shards.
func (s selection) everything() bool { return s.labels.Empty() && s.fields.Empty() }

func (s selection) matches(key string, v *version) bool {
	return v != nil && strings.HasPrefix(key, s.prefix) && s.labels.Matches(v.labels) && s.fields.Matches(v.fields) &&
		s.inShard(v)
}

func (s selection) inShard(v *version) bool {
	if s.shard == nil {
		return true
	}
	is, err := s.shard.Matches(v.obj)
	return err == nil && is
}

// A page is one answer to a list.
type page struct {
	items []*version
	// next is the key to go on after; "" if this was the last page.
	next string
	// remaining is nil when unknown, which it is under a selector: the real
	// server counts keys, not matches.
	remaining *int64
}

// page reads at most limit matching objects after the key start. A limit of
// zero or less means all.
func (s snapshot) page(sel selection, start string, limit int64) page {
	keys := span(s.keys, sel.prefix)
	if start != "" {
		at, found := slices.BinarySearch(keys, start)
		if found {
			at++
		}
		keys = keys[at:]
	}
	var p page
	for i, key := range keys {
		v := s.at(key)
		if !sel.matches(key, v) {
			continue
		}
		p.items = append(p.items, v)
		if limit <= 0 || int64(len(p.items)) < limit {
			continue
		}
		if i+1 < len(keys) {
			p.next = key
			if sel.everything() {
				left := int64(len(keys)) - limit
				p.remaining = &left
			}
		}
		break
	}
	return p
}

// token is the content of a continue token: the version of the first page and
// the last key that was sent. rv -1 asks for the rest at the current version,
// which is what a client gets with a 410 when its snapshot is gone.
type token struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

// encodeToken writes the key relative to the listed prefix, so that a token
// cannot be used to read another namespace.
func encodeToken(rv int64, prefix, key string) string {
	// The zero byte makes the token name the first possible key after the
	// last one; this is the real server's encoding.
	raw, err := json.Marshal(token{Version: tokenVersion, RV: rv, Start: strings.TrimPrefix(key, prefix) + "\x00"})
	if err != nil {
		panic(fmt.Sprintf("encode continue token: %v", err))
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

var errInvalidToken = errors.New("continue key is not valid")

func decodeToken(text, prefix string) (rv int64, key string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return 0, "", fmt.Errorf("%w: %v", errInvalidToken, err)
	}
	var t token
	if err := json.Unmarshal(raw, &t); err != nil {
		return 0, "", fmt.Errorf("%w: %v", errInvalidToken, err)
	}
	switch {
	case t.Version != tokenVersion:
		return 0, "", fmt.Errorf("%w: server does not recognize this encoded version %s", errInvalidToken, t.Version)
	case t.RV == 0:
		return 0, "", fmt.Errorf("%w: incorrect encoded start resourceVersion (version %s)", errInvalidToken, tokenVersion)
	case t.Start == "":
		return 0, "", fmt.Errorf("%w: encoded start key empty (version %s)", errInvalidToken, tokenVersion)
	}
	return t.RV, prefix + strings.TrimSuffix(t.Start, "\x00"), nil
}
