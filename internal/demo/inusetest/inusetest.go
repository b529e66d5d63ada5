// Package inusetest runs the small programs of the chapters' sections "In use".
//
// They all do the same job, each with what its chapter has by then: a ConfigMap with
// the label checked=yes has an annotation with the checksum of its data. The test plays
// the users on an in-memory API server, and looks whether it stays true. Below it is
// fakeapi; the tests of those programs use it.
package inusetest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// patience is how long the program may need, on the bubble's clock.
const patience = 10 * time.Minute

// Program is what a section "In use" shows: it does its job until the context ends.
type Program func(context.Context, *rest.Config) error

// Keeps fails the test unless the program keeps the checksums right, and returns when its
// context ends. What it returns is nil, or says that the context has ended. Every watch
// breaks after a minute.
func Keeps(t *testing.T, keep Program) {
	t.Helper()
	play(t, keep, fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, CutAfter: time.Minute, CutAbruptly: true})
}

// KeepsThoughWritesFail is Keeps with a server that refuses half of the program's writes,
// at random. It is for chapters that have learned to try again.
func KeepsThoughWritesFail(t *testing.T, keep Program) {
	t.Helper()
	play(t, keep, fakeapi.Fault{Match: fakeapi.Match{Verb: "update", UserAgent: agent}, Probability: 0.5, Status: fakeapi.InternalError()})
}

const agent = "the program in use"

func play(t *testing.T, keep Program, fault fakeapi.Fault) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fault)
		users, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		u := user{T: t, client: users}
		u.write("before", "1")

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		config := server.Config()
		config.UserAgent = agent
		go func() { ended <- keep(ctx, config) }()
		u.expect("before", "1", "a ConfigMap that was there when the program started")
		u.write("later", "1")
		u.expect("later", "1", "a ConfigMap that was created while the program runs")
		u.write("later", "2")
		u.expect("later", "2", "a ConfigMap whose data changed")
		u.annotate("before", "wrong")
		u.expect("before", "1", "an annotation that a user has changed")
		u.delete("later")

		time.Sleep(5 * time.Minute) // the bubble's; watches have broken meanwhile
		u.write("before", "3")
		u.write("last", "1")
		u.expect("before", "3", "a change after a watch has broken")
		u.expect("last", "1", "a ConfigMap that was created after a watch has broken")

		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			require.NoError(t, err, "the program must end when its context ends")
		}
	})
}

// user is somebody who writes ConfigMaps.
type user struct {
	*testing.T
	client kubernetes.Interface
}

const namespace = "default"

func (u user) write(name, text string) {
	u.Helper()
	configMaps := u.client.CoreV1().ConfigMaps(namespace)
	found, err := configMaps.Get(u.Context(), name, metav1.GetOptions{})
	if err != nil {
		_, err = configMaps.Create(u.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"checked": "yes"}},
			Data:       map[string]string{"text": text},
		}, metav1.CreateOptions{})
	} else {
		found.Data["text"] = text
		_, err = configMaps.Update(u.Context(), found, metav1.UpdateOptions{})
	}
	require.NoError(u, err)
}

func (u user) annotate(name, checksum string) {
	u.Helper()
	configMaps := u.client.CoreV1().ConfigMaps(namespace)
	found, err := configMaps.Get(u.Context(), name, metav1.GetOptions{})
	require.NoError(u, err)
	found.Annotations["checksum"] = checksum
	_, err = configMaps.Update(u.Context(), found, metav1.UpdateOptions{})
	require.NoError(u, err)
}

func (u user) delete(name string) {
	u.Helper()
	require.NoError(u, u.client.CoreV1().ConfigMaps(namespace).Delete(u.Context(), name, metav1.DeleteOptions{}))
}

// expect waits until the ConfigMap has the annotation that fits this text.
func (u user) expect(name, text, what string) {
	u.Helper()
	want := fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, map[string]string{"text": text})))
	for begin := time.Now(); ; time.Sleep(time.Second) { // the bubble's seconds
		synctest.Wait()
		found, err := u.client.CoreV1().ConfigMaps(namespace).Get(u.Context(), name, metav1.GetOptions{})
		require.NoError(u, err)
		if found.Annotations["checksum"] == want {
			return
		}
		require.Less(u, time.Since(begin), patience, "%s: ConfigMap %s has the checksum %q, not %s", what, name, found.Annotations["checksum"], want)
	}
}
