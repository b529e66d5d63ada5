package informer

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

var configMapResource = corev1.SchemeGroupVersion.WithResource("configmaps")

// world is an API server with a namespace for one test.
type world struct {
	config     *rest.Config
	namespace  string
	configMaps typedcorev1.ConfigMapInterface
}

// onEachServer runs a test against the in-memory API server, on a clock that
// does not wait, and against a real one. What holds on both is the protocol.
func onEachServer(t *testing.T, test func(t *testing.T, w world)) {
	t.Run("in memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			test(t, newWorld(t, server.Config(), metav1.NamespaceDefault))
		})
	})
	t.Run("real", func(t *testing.T) {
		test(t, newWorld(t, clustertest.Config(t), clustertest.Namespace(t)))
	})
}

func newWorld(t *testing.T, config *rest.Config, namespace string) world {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return world{config: config, namespace: namespace,
		configMaps: client.CoreV1().ConfigMaps(namespace)}
}

// listWatch is for the ConfigMaps that create makes.
func (w world) listWatch(t *testing.T, options ListWatchOptions) *ListWatch[*corev1.ConfigMap] {
	t.Helper()
	options.Namespace = w.namespace
	if options.LabelSelector == "" {
		options.LabelSelector = "test"
	}
	listWatch, err := NewListWatch[*corev1.ConfigMap](w.config, configMapResource, options)
	require.NoError(t, err)
	return listWatch
}

func (w world) create(t *testing.T, name string, labels map[string]string) *corev1.ConfigMap {
	t.Helper()
	if labels == nil {
		labels = map[string]string{"test": "yes"}
	}
	made, err := w.configMaps.Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	return made
}

// change writes a new value into a ConfigMap.
func (w world) change(t *testing.T, name string, value int) *corev1.ConfigMap {
	t.Helper()
	found, err := w.configMaps.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	found.Data = map[string]string{"value": strconv.Itoa(value)}
	changed, err := w.configMaps.Update(t.Context(), found, metav1.UpdateOptions{})
	require.NoError(t, err)
	return changed
}

func (w world) delete(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, w.configMaps.Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// writeAtRandom creates one of ten objects, or, if it exists, changes it; one time in oneIn it
// deletes it. Then content is what the server has.
func (w world) writeAtRandom(t *testing.T, random *rand.Rand, oneIn, value int, content map[string]string) {
	t.Helper()
	name := "object-" + strconv.Itoa(random.IntN(10))
	_, there := content[name]
	switch {
	case !there:
		w.create(t, name, nil)
		content[name] = ""
	case random.IntN(oneIn) == 0:
		w.delete(t, name)
		delete(content, name)
	default:
		w.change(t, name, value)
		content[name] = strconv.Itoa(value)
	}
}

func namesOf(items []*corev1.ConfigMap) []string {
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, item.Name)
	}
	return names
}
