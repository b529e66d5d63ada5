package differential

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// normaliser makes two servers' answers comparable.
type normaliser struct {
	ns       string
	versions map[string]string
	uids     map[string]string
	managed  bool // keep managedFields
}

func newNormaliser(ns string) *normaliser {
	return &normaliser{ns: ns, versions: map[string]string{}, uids: map[string]string{}}
}

var (
	uidPattern  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	// The real server's storage errors name its etcd keys.
	storageError = regexp.MustCompile(`StorageError: .*?AdditionalErrorMsg: `)
	schemeName   = regexp.MustCompile(` in scheme [^,]*`)
	tooLarge     = regexp.MustCompile(`current: \d+`)
	fromVersion  = regexp.MustCompile(`(resourceVersion=)(\d\d?\d?\d?\d?)\b`)
	tooOld       = regexp.MustCompile(`(too old resource version): \d+ \(\d+\)`)
	hashInPath   = regexp.MustCompile(`%270x[0-9a-f]{16}%27`)
	tokenInPath  = regexp.MustCompile(`continue=[^& ]+`)
)

func (n *normaliser) text(s string) string {
	if n.ns != "" {
		s = strings.ReplaceAll(s, n.ns, "{ns}")
	}
	s = timePattern.ReplaceAllString(s, "<time>")
	s = storageError.ReplaceAllString(s, "")
	s = fromVersion.ReplaceAllString(s, "${1}<rv>")
	s = tooOld.ReplaceAllString(s, "$1")
	s = hashInPath.ReplaceAllString(s, "<hash>")
	s = tokenInPath.ReplaceAllStringFunc(s, func(t string) string {
		if t == "continue=true" || t == "continue=false" {
			return t
		}
		return "continue=<token>"
	})
	s = tooLarge.ReplaceAllString(s, "current: <rv>")
	return uidPattern.ReplaceAllStringFunc(s, func(uid string) string {
		if n.uids[uid] == "" {
			n.uids[uid] = fmt.Sprintf("<uid%d>", len(n.uids)+1)
		}
		return n.uids[uid]
	})
}

// body renders an answer.
func (n *normaliser) body(r response) string {
	if r.body == nil {
		return strings.TrimSpace(string(r.raw))
	}
	items, isList := r.body["items"].([]any)
	if !isList {
		_, isEmpty := r.body["items"] // null: what a list's version is depends on who else writes meanwhile
		return n.object(r.body, isEmpty)
	}
	var parts []string
	for _, item := range items {
		parts = append(parts, n.object(item.(map[string]any), false))
	}
	m := child(r.body, "metadata")
	head := fmt.Sprintf("%v %v continue=%v remaining=%v", r.body["apiVersion"], r.body["kind"], m["continue"] != nil, m["remainingItemCount"])
	return head + "\n    " + strings.Join(parts, "\n    ")
}

// object renders one object, without what depends on time, chance or on
// admission plugins that the fake does not have.
func (n *normaliser) object(obj map[string]any, bookmark bool) string {
	raw, _ := json.Marshal(obj)
	var copied map[string]any
	_ = json.Unmarshal(raw, &copied)
	if copied["kind"] == "Status" {
		return n.status(copied)
	}
	m, _ := copied["metadata"].(map[string]any)
	if m != nil {
		n.metadata(m, bookmark)
	}
	n.spec(copied)
	out, _ := json.Marshal(copied)
	return string(out)
}

func (n *normaliser) metadata(m map[string]any, bookmark bool) {
	if rv, ok := m["resourceVersion"].(string); ok {
		if n.versions[rv] == "" && !bookmark {
			n.versions[rv] = fmt.Sprintf("rv%d", len(n.versions)+1)
		}
		m["resourceVersion"] = n.versions[rv]
		if bookmark {
			m["resourceVersion"] = "<rv>"
		}
	}
	if base, ok := m["generateName"].(string); ok && m["name"] != nil {
		name := m["name"].(string)
		if len(name) > 5 && regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}$`).MatchString(name[len(name)-5:]) {
			m["name"] = fmt.Sprintf("%d:%s<suffix>", len(name), name[:min(len(name)-5, len(base))])
		}
	}
	if !n.managed {
		delete(m, "managedFields")
		return
	}
	entries, _ := m["managedFields"].([]any)
	sort.SliceStable(entries, func(i, j int) bool { return fmt.Sprint(entries[i]) < fmt.Sprint(entries[j]) })
}

// spec drops what admission plugins and allocators of a real server add.
func (n *normaliser) spec(obj map[string]any) {
	spec, ok := obj["spec"].(map[string]any)
	if !ok {
		return
	}
	switch obj["kind"] {
	case "Pod":
		for _, key := range []string{"tolerations", "priority", "preemptionPolicy", "serviceAccount", "serviceAccountName", "volumes"} {
			delete(spec, key)
		}
		for _, c := range spec["containers"].([]any) {
			delete(c.(map[string]any), "volumeMounts")
		}
	case "Service":
		for _, key := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
			delete(spec, key)
		}
	}
}

// status keeps a Status without its wording where that names Go internals.
func (n *normaliser) status(s map[string]any) string {
	if message, ok := s["message"].(string); ok {
		s["message"] = schemeName.ReplaceAllString(message, "")
	}
	if m := child(s, "metadata"); m["continue"] != nil {
		m["continue"] = "<token>"
	}
	out, _ := json.Marshal(s)
	return string(out)
}
