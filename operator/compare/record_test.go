package compare

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// record is what one run leaves, without what differs from run to run. It is compared part by part.
type record struct {
	parts []part
}

// part is some lines under a title.
type part struct {
	title string
	lines []string
}

func (r *record) add(title string, lines ...string) { r.parts = append(r.parts, part{title, lines}) }

var (
	uid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// holder is the identity of a replica: its host and a UID.
	holder = regexp.MustCompile(`[-.\w]+_` + uid.String())
)

// mask replaces what differs from run to run in a text.
func (s *scenario) mask(text string) string {
	text = strings.ReplaceAll(text, s.namespace, "NAMESPACE")
	text = strings.ReplaceAll(text, s.install.front.address(), "FRONT")
	return uid.ReplaceAllString(holder.ReplaceAllString(text, "HOLDER"), "UID")
}

// remember writes down how the objects are now.
func (s *scenario) remember(ctx context.Context, title string) error {
	for _, resource := range []schema.GroupVersionResource{sites, oldSites, configMaps, leases} {
		list, err := s.client(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		for _, object := range list.Items {
			if object.GetName() == "kube-root-ca.crt" {
				continue // a controller of the cluster makes it in every namespace
			}
			text, err := s.show(&object)
			if err != nil {
				return err
			}
			s.record.add(fmt.Sprintf("%s: %s %s %s", title, object.GetAPIVersion(), object.GetKind(), object.GetName()), strings.Split(text, "\n")...)
		}
	}
	s.record.add(title+": registered hosts", s.masked(s.desk.registered())...)
	for _, r := range s.fleet.all {
		if r.alive() {
			if err := r.metricNames(ctx, s.metrics); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scenario) masked(lines []string) []string {
	for i := range lines {
		lines[i] = s.mask(lines[i])
	}
	return lines
}

// show writes an object without UIDs, times and versions. Who has written which field is shown.
func (s *scenario) show(object *unstructured.Unstructured) (string, error) {
	hide(object.Object)
	fields := object.GetManagedFields()
	slices.SortFunc(fields, func(a, b metav1.ManagedFieldsEntry) int { // the order is that of the times
		return cmp.Or(strings.Compare(a.Manager, b.Manager), strings.Compare(string(a.Operation), string(b.Operation)),
			strings.Compare(a.Subresource, b.Subresource), strings.Compare(a.APIVersion, b.APIVersion))
	})
	object.SetManagedFields(fields)
	hide(object.Object)
	text, err := yaml.Marshal(object.Object)
	return s.mask(string(text)), err
}

// hidden are fields that differ from run to run, wherever they are.
var hidden = []string{"uid", "resourceVersion", "creationTimestamp", "lastTransitionTime", "time", "renewTime", "acquireTime", "deletionTimestamp"}

func hide(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			if _, isText := below.(string); isText && slices.Contains(hidden, key) {
				delete(value, key)
				continue
			}
			hide(below)
		}
	case []any:
		for _, below := range value {
			hide(below)
		}
	}
}

// events lists the events, each once: how often one was repeated depends on how often something was tried.
func (s *scenario) events(ctx context.Context) ([]string, error) {
	list, err := s.client(eventsV1).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, event := range list.Items {
		text := func(path ...string) string {
			found, _, _ := unstructured.NestedString(event.Object, path...)
			return found
		}
		line := fmt.Sprintf("%s %s %s of %s %s/%s by %s", text("type"), text("reason"), text("action"),
			text("regarding", "apiVersion"), text("regarding", "kind"), text("regarding", "name"), text("reportingController"))
		if related := text("related", "name"); related != "" {
			line += " with " + text("related", "kind") + "/" + related
		}
		lines = append(lines, s.mask(line+": "+text("note")))
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
