// Package config_test proves that the files in this directory work, and that the program needs what
// they grant.
package config_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/log"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(clustertest.Run(m))
}

// administrator returns a client with all rights.
func administrator(t *testing.T) client.Client {
	config := clustertest.Config(t)
	// every answer would warn that Endpoints are deprecated
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return c
}

const (
	home = "loopwright-system"
	name = "loopwright-controllers"
	// optional is the file that only the controller for EndpointSlices needs.
	optional = "optional/endpointslice.yaml"
)

// documents are the objects in a file.
func documents(t *testing.T, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err, file)
		objects = append(objects, object)
	}
}

// granted are the rights in the file, in all namespaces and at home.
func granted(t *testing.T) (everywhere, atHome rights) {
	t.Helper()
	everywhere, atHome = grantedBy(t, "rbac.yaml")
	require.NotEmpty(t, atHome)
	return everywhere, atHome
}

func grantedBy(t *testing.T, file string) (everywhere, atHome rights) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		require.NoError(t, yaml.Unmarshal([]byte(document), &role))
		switch role.Kind {
		case "ClusterRole":
			everywhere = rightsOf(role.Rules)
		case "Role":
			atHome = rightsOf(role.Rules)
		}
	}
	require.NotEmpty(t, everywhere)
	return everywhere, atHome
}

// The table must not list a rule that does not exist, and must give a reason for every rule.
func TestTheTableSaysWhatEachRuleIsFor(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, tables, found := strings.Cut(string(text), "<!-- rules of the ClusterRole -->")
	require.True(t, found)
	ofCluster, ofHome, found := strings.Cut(tables, "<!-- rules of the Role -->")
	require.True(t, found)
	ofHome, ofSlices, found := strings.Cut(ofHome, "<!-- rules of the optional ClusterRole -->")
	require.True(t, found)
	everywhere, atHome := granted(t)
	besides, _ := grantedBy(t, optional)
	for _, test := range []struct {
		kind, table string
		want        rights
	}{{"ClusterRole", ofCluster, everywhere}, {"Role", ofHome, atHome},
		{"optional ClusterRole", ofSlices, besides}} {
		got := tableRights(t, test.table)
		assert.Empty(t, test.want.without(got), "in the %s, and not in the table", test.kind)
		assert.Empty(t, got.without(test.want), "in the table, and not in the %s", test.kind)
	}
}

var tableRow = regexp.MustCompile("(?m)^\\| (?:`([^`]+)` )?([a-z/]+) \\| ([a-z, ]+) \\| (.+) \\|$")

func tableRights(t *testing.T, table string) rights {
	all := rights{}
	for _, row := range tableRow.FindAllStringSubmatch(table, -1) {
		for verb := range strings.SplitSeq(row[3], ", ") {
			r := right{row[1], row[2], verb}
			if row[2] == "resource" {
				continue // the head of the table
			}
			assert.False(t, all[r], "%s is there twice", r)
			all[r] = true
		}
	}
	return all
}

// apply applies all files, as kubectl apply --server-side does, with strict validation.
func apply(t *testing.T, c client.Client, besides ...string) {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.Equal(t, []string{"namespace.yaml", "rbac.yaml", "statefulset.yaml"}, files,
		"kubectl applies them in this order, and each needs those before it")
	for _, file := range append(files, besides...) {
		for _, object := range documents(t, file) {
			require.NoError(t, c.Patch(t.Context(), object, client.Apply, client.FieldOwner("test"),
				client.FieldValidation(metav1.FieldValidationStrict)),
				"%s: %s %s", file, object.GetKind(), object.GetName())
		}
	}
}

// A namespace with the restricted policy admits the Pods, and both become ready.
func TestTheReplicasAreAdmittedByTheRestrictedNamespace(t *testing.T) {
	c := administrator(t)
	apply(t, c)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		set := &appsv1.StatefulSet{}
		require.NoError(t, c.Get(context.Background(),
			client.ObjectKey{Namespace: home, Name: name}, set))
		require.Equal(t, int32(2), set.Status.ReadyReplicas)
	}, time.Minute, 50*time.Millisecond)

	loose := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "loose", Namespace: home},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "loose", Image: "loose"}}},
	}
	err := c.Create(t.Context(), loose, client.DryRunAll)
	assert.True(t, apierrors.IsForbidden(err) &&
		strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`),
		"the namespace admits anything: %v", err)
}
