package differential

import (
	"fmt"
	"net/http"
	"strings"
)

const (
	statefulSets = "/apis/apps/v1/namespaces/{ns}/statefulsets"
	roles        = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
	roleBindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings"
)

// created are objects that a server doesn't take, and a few that it takes although they look alike.
var created = []struct{ path, object string }{
	{services, `{"metadata":{"name":"none"},"spec":{}}`},
	{services, `{"metadata":{"name":"headless"},"spec":{"clusterIP":"None"}}`},
	{services, `{"metadata":{"name":"external"},"spec":{"type":"ExternalName"}}`},
	{services, `{"metadata":{"name":"named"},"spec":{"type":"ExternalName","externalName":"a.example.com"}}`},
	{services, `{"metadata":{"name":"high"},"spec":{"ports":[{"port":70000}]}}`},
	{services, `{"metadata":{"name":"zero"},"spec":{"ports":[{}]}}`},
	{services, `{"metadata":{"name":"unnamed"},"spec":{"ports":[{"port":80},{"port":81}]}}`},
	{roles, `{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"]}]}`},
	{roles, `{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"resources":["pods"]}]}`},
	{roles, `{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""]}]}`},
	{roles, `{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]}`},
	{roleBindings, `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Rule","name":"r"}}`},
	{roleBindings, `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role"}}`},
	{roleBindings, `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"example.com","kind":"Role","name":"r"}}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"b-{ns}"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"r-{ns}"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"],"apiGroups":[""],"resources":["pods"]}]}`},
	{services, `{"metadata":{"name":"target"},"spec":{"ports":[{"port":80,"targetPort":70000}]}}`},
	{pods, strings.Replace(pod, `"name":"c"`, `"name":"No Name"`, 1)},
	{deployments, strings.Replace(deployment, `"name":"c"`, `"name":"under_score"`, 1)},
	{pods, strings.Replace(pod, `"containers"`, `"terminationGracePeriodSeconds":-1,"containers"`, 1)},
	{configMaps, `{"metadata":{"name":"a"},"data":{"a b":"1"}}`},
	{configMaps, `{"metadata":{"name":"a"},"data":{"":"1"}}`},
	{configMaps, `{"metadata":{"name":"a"},"data":{"..":"1"}}`},
	{configMaps, `{"metadata":{"name":"a"},"data":{"k":"1"},"binaryData":{"k":"MQ=="}}`},
	{configMaps, `{"metadata":{"name":"a"},"binaryData":{"a b":"MQ=="}}`},
	{secrets, `{"metadata":{"name":"a"},"data":{"a b":"MQ=="}}`},
	{configMaps, `{"metadata":{"name":"a"},"data":{"k":"` + strings.Repeat("x", 1<<20+1) + `"}}`},
	{secrets, `{"metadata":{"name":"a"},"stringData":{"k":"` + strings.Repeat("x", 1<<20+1) + `"}}`},
}

// changed are objects with changes, as merge patches, most of which a server doesn't take.
var changed = []struct {
	path, name, object string
	changes            []string
}{
	{statefulSets, "s", `{"metadata":{"name":"s"},"spec":{"replicas":0,"serviceName":"s","selector":{"matchLabels":{"app":"x"}},"template":` + template + `}}`, []string{
		`{"spec":{"serviceName":"t"}}`,
		`{"spec":{"podManagementPolicy":"Parallel"}}`,
		`{"spec":{"selector":{"matchLabels":{"app":"y"}}}}`,
		`{"spec":{"minReadySeconds":5,"replicas":0,"revisionHistoryLimit":3}}`,
		`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Retain"}}}`,
	}},
	{roleBindings, "b", `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}}`, []string{
		`{"roleRef":{"name":"s"}}`,
		`{"subjects":[{"kind":"ServiceAccount","name":"a","namespace":"n"}]}`,
	}},
	{services, "h", `{"metadata":{"name":"h"},"spec":{"clusterIP":"None","ports":[{"port":80}]}}`, []string{
		`{"spec":{"ports":[{"port":81}]}}`,
	}},
	{pods, "p", pod, []string{
		`{"spec":{"terminationGracePeriodSeconds":7}}`,
		`{"spec":{"activeDeadlineSeconds":60}}`,
	}},
}

// answer is what a server says, without the words.
func answer(r response) string {
	if r.code < http.StatusBadRequest {
		return fmt.Sprint(r.code)
	}
	said := fmt.Sprint(r.code, " ", r.str("reason"))
	details, _ := r.body["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	for _, one := range causes {
		cause, _ := one.(map[string]any)
		said += fmt.Sprintf(" %v at %v", cause["reason"], cause["field"])
	}
	return said
}

var refusalScenarios = []scenario{
	{name: "the address of a Service", play: func(c *client) {
		c.silently(http.MethodPost, services, `{"metadata":{"name":"h"},"spec":{"clusterIP":"None","ports":[{"port":80}]}}`)
		r := c.silently(http.MethodPatch, services+"/h", `{"spec":{"clusterIP":"10.96.0.77","clusterIPs":["10.96.0.77"]}}`, "Content-Type", patchMerge)
		c.note("%d %s", r.code, r.str("reason"))
	}},
	{name: "which new objects are refused", play: func(c *client) {
		for _, one := range created {
			r := c.silently(http.MethodPost, one.path, one.object)
			c.note("%.150s: %s", one.object, answer(r))
		}
	}},
	{name: "which changes are refused", play: func(c *client) {
		for _, one := range changed {
			r := c.silently(http.MethodPost, one.path, one.object)
			c.note("%s: %s", one.name, answer(r))
			for _, change := range one.changes {
				r := c.silently(http.MethodPatch, one.path+"/"+one.name, change, "Content-Type", patchMerge)
				c.note("%s: %s", change, answer(r))
			}
		}
	}},
}
