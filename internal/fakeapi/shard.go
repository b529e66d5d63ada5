package fakeapi

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

// shardTerm is the shape of one term of a shard selector, as in
// shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000').
var shardTerm = regexp.MustCompile(
	`^\s*shardRange\(\s*([\w.]+)\s*,\s*['"]([^'"]*)['"]\s*,\s*['"]([^'"]*)['"]\s*\)\s*$`)

// parseShard reads a shard selector: terms with || between them, all about the same field. The real
// server has a parser of CEL instead of shardTerm, so it allows more brackets, and says in other
// words what isn't even a term.
func parseShard(text string) (sharding.Selector, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	var all []sharding.ShardRangeRequirement
	for term := range strings.SplitSeq(text, "||") {
		m := shardTerm.FindStringSubmatch(term)
		if m == nil {
			return nil, fmt.Errorf("not a shardRange(): %q", term)
		}
		one := sharding.ShardRangeRequirement{Key: m[1], Start: m[2], End: m[3]}
		if err := checkShardRange(one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	for _, one := range all {
		if one.Key != all[0].Key {
			return nil, fmt.Errorf("all shard ranges must use the same field, got %q and %q", all[0].Key, one.Key)
		}
	}
	return sharding.NewSelector(all...), nil
}

func checkShardRange(r sharding.ShardRangeRequirement) error {
	if r.Key != "object.metadata.uid" && r.Key != "object.metadata.namespace" {
		return fmt.Errorf("unsupported field path %q; supported: object.metadata.uid, object.metadata.namespace", r.Key)
	}
	if err := checkShardBound("hexStart", r.Start); err != nil {
		return err
	}
	if err := checkShardBound("hexEnd", r.End); err != nil {
		return err
	}
	if !sharding.HexLess(r.Start, r.End) {
		return fmt.Errorf("shard range start %s must be less than end %s", r.Start, r.End)
	}
	return nil
}

// endOfShards is 2^64, the only bound that has 17 digits.
const endOfShards = "0x10000000000000000"

var notHex = regexp.MustCompile(`[^0-9a-f]`)

func checkShardBound(which, bound string) error {
	digits, is := strings.CutPrefix(bound, "0x")
	switch bad := notHex.FindString(digits); {
	case !is:
		return fmt.Errorf("%s must have '0x' prefix, got %q", which, bound)
	case digits == "":
		return fmt.Errorf("%s: hex value is required after '0x'", which)
	case len(digits) > 17:
		return fmt.Errorf("%s: hex value too long (%d chars, max 17): %q", which, len(digits), digits)
	case bad != "":
		return fmt.Errorf("%s: invalid hex character %q in %q", which, bad, bound)
	case len(digits) == 17 && bound != endOfShards:
		return fmt.Errorf("%s: 17-digit hex value must be '%s' (2^64), got %q", which, endOfShards, bound)
	case len(digits) < 16:
		return fmt.Errorf("%s must be a 0x-prefixed 16-digit hex value, got %q (did you mean %q?)",
			which, bound, "0x"+strings.Repeat("0", 16-len(digits))+digits)
	}
	return nil
}
