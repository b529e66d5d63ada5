package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// world is an in-memory API server with users and, when it is started, a controller.
type world struct {
	*testing.T
	server *fakeapi.Server
	users  kubernetes.Interface

	mu     sync.Mutex // guards errors
	errors []error    // that the controller reported
}

// inWorld runs a test in a bubble, which fails if a goroutine is left at its end.
func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: fakeapi.New(fakeapi.Options{FinalizeNamespaces: true})}
		defer w.server.Close()
		var err error
		w.users, err = kubernetes.NewForConfig(w.server.Config())
		require.NoError(t, err)
		test(w)
	})
}

const agent = "controller-under-test"

// start runs a controller until stop, which returns when Run has.
func (w *world) start() (stop func()) {
	config := w.server.Config()
	config.UserAgent = agent
	controller, err := NewController(config, Options{OnError: func(_ string, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.errors = append(w.errors, err)
	}})
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		require.NoError(w, <-ended)
	}
}

// failures waits until the controller has nothing more to do for now, and returns what
// it has reported.
func (w *world) failures() []error {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.errors
}

func (w *world) makeNamespace(name string, labels map[string]string) {
	_, err := w.users.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels, Annotations: map[string]string{contactAnnotation: "phone 1"},
	}}, metav1.CreateOptions{})
	require.NoError(w, err)
	synctest.Wait()
}

// makeObstacle makes something with a finalizer, which keeps a Namespace from going.
func (w *world) makeObstacle(namespace string) {
	_, err := w.users.CoreV1().Secrets(namespace).Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "stays", Finalizers: []string{"example.com/stays"},
	}}, metav1.CreateOptions{})
	require.NoError(w, err)
}

func (w *world) patchNamespace(name, metadata string) {
	_, err := w.users.CoreV1().Namespaces().Patch(w.Context(), name, types.MergePatchType, []byte(`{"metadata":`+metadata+`}`), metav1.PatchOptions{})
	require.NoError(w, err)
}

func (w *world) setContact(name, contact string) {
	w.patchNamespace(name, fmt.Sprintf(`{"annotations":{"contact":%q}}`, contact))
}

// configMap is what a user sees; nil is none.
func (w *world) configMap(namespace string) *corev1.ConfigMap {
	synctest.Wait()
	found, err := w.users.CoreV1().ConfigMaps(namespace).Get(w.Context(), "team", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w, err)
	return found
}

// says is the data of a ConfigMap that must be there.
func (w *world) says(namespace string) map[string]string {
	found := w.configMap(namespace)
	require.NotNil(w, found, "%s has no ConfigMap", namespace)
	return found.Data
}

func (w *world) change(namespace string, change func(*corev1.ConfigMap)) {
	found := w.configMap(namespace)
	require.NotNil(w, found)
	change(found)
	_, err := w.users.CoreV1().ConfigMaps(namespace).Update(w.Context(), found, metav1.UpdateOptions{})
	require.NoError(w, err)
	synctest.Wait()
}

func (w *world) delete(namespace string) {
	require.NoError(w, w.users.CoreV1().ConfigMaps(namespace).Delete(w.Context(), "team", metav1.DeleteOptions{}))
	synctest.Wait()
}

// writes are the controller's requests that change something.
func (w *world) writes() []string {
	synctest.Wait()
	var writes []string
	for _, request := range w.server.Requests(fakeapi.Match{UserAgent: agent}) {
		if request.Verb != "list" && request.Verb != "watch" {
			writes = append(writes, request.String())
		}
	}
	return writes
}

var ofTeam = map[string]string{teamLabel: "red"}
