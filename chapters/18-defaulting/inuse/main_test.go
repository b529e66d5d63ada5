package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/envtest"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/webhook"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(clustertest.Run(m))
}

// servedAt sets the port of the webhook server for one test. The in-memory API server calls no webhooks, so with it
// the server is switched off, and the reconciler does all of the work.
func servedAt(t *testing.T, port int) {
	before := webhook.DefaultPort
	webhook.DefaultPort = port
	t.Cleanup(func() { webhook.DefaultPort = before })
}

// The chapter's text shows this program.
func TestTheChecksumsStayRight(t *testing.T) {
	servedAt(t, -1)
	inusetest.Keeps(t, keep)
}

// About half of the writes fail. The controller has to try again.
func TestTheChecksumsStayRightThoughWritesFail(t *testing.T) {
	servedAt(t, -1)
	inusetest.KeepsThoughWritesFail(t, keep)
}

// Between a write and the controller's answer to it, a reader would find a wrong checksum. With the webhook, there is no such
// moment.
func TestAChecksumIsRightBeforeTheConfigMapIsStored(t *testing.T) {
	config := clustertest.Config(t)
	port := envtest.WebhookInstallOptions{}
	require.NoError(t, port.PrepWithoutInstalling())
	defer func() { require.NoError(t, port.Cleanup()) }()
	servedAt(t, port.LocalServingPort)
	users, err := client.New(config, client.Options{})
	require.NoError(t, err)
	configuration := manifest(t, port.LocalServingPort)
	require.NoError(t, users.Create(t.Context(), configuration))
	defer func() { require.NoError(t, users.Delete(context.WithoutCancel(t.Context()), configuration)) }()

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- keep(ctx, config) }()
	namespace := clustertest.Namespace(t)
	object := func(text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{Data: map[string]string{"text": text},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello", Labels: map[string]string{"checked": "yes"}}}
	}
	require.Eventually(t, func() bool {
		tried := object("1")
		return users.Create(t.Context(), tried, client.DryRunAll) == nil && inuse.HasChecksum(tried)
	}, time.Minute, 20*time.Millisecond, "the API server calls no webhook")
	written := object("1")
	require.NoError(t, users.Create(t.Context(), written))
	require.True(t, inuse.HasChecksum(written), "the answer to the create has no checksum")
	written.Data["text"] = "2"
	require.NoError(t, users.Update(t.Context(), written))
	require.True(t, inuse.HasChecksum(written), "the answer to the update has the checksum of before")
	require.EqualValues(t, "2", written.Data["text"])

	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		require.NoError(t, err)
	}
}

// manifest is the one that the chapter's text applies, for another port.
func manifest(t *testing.T, port int) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	text, err := os.ReadFile("webhook.yaml")
	require.NoError(t, err)
	require.Contains(t, string(text), ":9443/")
	found := &admissionregistrationv1.MutatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(strings.Replace(string(text), ":9443/", ":"+strconv.Itoa(port)+"/", 1)), found))
	return found
}
