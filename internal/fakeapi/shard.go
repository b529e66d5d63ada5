package fakeapi

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

// shardRange is one term of a shard selector, as in
// shardRange(object.metadata.namespace, '0x0', '0x8000000000000000').
var shardRange = regexp.MustCompile(
	`^\s*shardRange\(\s*(object\.metadata\.(?:uid|namespace))\s*,\s*'(0x[0-9a-f]{1,17})'\s*,\s*'(0x[0-9a-f]{1,17})'\s*\)\s*$`)

// parseShard reads a shard selector: terms with || between them, all about the same field.
func parseShard(text string) (sharding.Selector, error) {
	var all []sharding.ShardRangeRequirement
	for term := range strings.SplitSeq(text, "||") {
		m := shardRange.FindStringSubmatch(term)
		if m == nil {
			return nil, fmt.Errorf("invalid shard selector: %q", term)
		}
		if len(all) > 0 && all[0].Key != m[1] {
			return nil, fmt.Errorf("invalid shard selector: all shard ranges must use the same field, got %q and %q",
				all[0].Key, m[1])
		}
		if !sharding.HexLess(m[2], m[3]) {
			return nil, fmt.Errorf("invalid shard selector: shard range start %s must be less than end %s", m[2], m[3])
		}
		all = append(all, sharding.ShardRangeRequirement{Key: m[1], Start: m[2], End: m[3]})
	}
	return sharding.NewSelector(all...), nil
}
