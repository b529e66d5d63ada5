package envtest_test

// This file is what a user's suite_test.go looks like, as a scaffolding tool would write it, with
// its import paths replaced. It uses nothing that controller-runtime's envtest does not have; to
// compile is half of what it is for.

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/envtest"
)

var (
	cfg       *rest.Config
	k8sClient client.Client
	testEnv   *envtest.Environment
)

// region suite

func beforeSuite() (err error) {
	testEnv = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("testdata", "crds")},
		ErrorIfCRDPathMissing: true,
		BinaryAssetsDirectory: filepath.Join("..", "..", "bin", "k8s", "1.35.0-linux-amd64"),
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("testdata", "webhooks")}},
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: time.Minute,
			Scheme: scheme.Scheme},
		Scheme: scheme.Scheme,
	}
	testEnv.ControlPlane.GetAPIServer().Configure().
		Set("max-requests-inflight", "1000").
		Append("disable-admission-plugins", "LimitRanger")
	if cfg, err = testEnv.Start(); err != nil {
		return err
	}
	k8sClient, err = client.New(cfg, client.Options{Scheme: scheme.Scheme})
	return err
}

func afterSuite() error { return testEnv.Stop() }

// endregion suite

func TestAUsersSuiteWorksWithItsImportPathReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	t.Setenv("USE_EXISTING_CLUSTER", "")
	if err := beforeSuite(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := afterSuite(); err != nil {
			t.Error(err)
		}
	}()
	o := testEnv.WebhookInstallOptions
	if o.LocalServingHost == "" || o.LocalServingPort == 0 || o.LocalServingCertDir == "" {
		t.Errorf("a suite's webhook server cannot be told where to serve: %q, %d, %q",
			o.LocalServingHost, o.LocalServingPort, o.LocalServingCertDir)
	}
	user, err := testEnv.AddUser(envtest.User{Name: "viewer", Groups: []string{"system:masters"}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.KubeConfig(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "suite-"}}
	if err := k8sClient.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := k8sClient.List(ctx, crds); err != nil || len(crds.Items) != 2 {
		t.Errorf("%d CRDs: %v", len(crds.Items), err)
	}
	if err := envtest.UninstallCRDs(cfg,
		envtest.CRDInstallOptions{CRDs: testEnv.CRDs}); err != nil {
		t.Error(err)
	}
}

// A test's environment is started once, and stopped after the last test.
func ExampleEnvironment() {
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"testdata/crds"}}
	config, err := environment.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Println(err)
		}
	}()
	_, _ = client.New(config, client.Options{})
}
