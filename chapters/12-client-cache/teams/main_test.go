package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// The text says how long it is, and that its decisions are those of chapter 9.
func TestTheProgramIsAsShortAsTheTextSays(t *testing.T) {
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(program), "\n)\n")
	require.LessOrEqual(t, strings.Count(body, "\n"), 60, "lines after the imports")

	const chapter9 = "../../09-priority-fairness/coda/"
	byHand, err := os.ReadFile(chapter9 + "controller.go")
	require.NoError(t, err)
	_, body, _ = strings.Cut(string(byHand), "\n)\n")
	require.Equal(t, 267, strings.Count(body, "\n"), "the text says how many lines chapter 9 has")

	theirs, err := os.ReadFile(chapter9 + "decide.go")
	require.NoError(t, err)
	ours, err := os.ReadFile("decide.go")
	require.NoError(t, err)
	require.Equal(t, string(theirs), string(ours))
}

// The tests below have the names of those of chapter 9's controller, and expect the same.

func TestEachLabelledNamespaceGetsAConfigMapAndNoOtherDoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("before", ofTeam)
		w.makeNamespace("unlabelled", nil)
		defer w.start()()
		w.makeNamespace("after", map[string]string{teamLabel: "blue"})
		require.Equal(t, map[string]string{"team": "red", "contact": "phone 1"}, w.says("before"))
		require.Equal(t, map[string]string{"team": "blue", "contact": "phone 1"}, w.says("after"))
		require.Nil(t, w.configMap("unlabelled"))
		require.Nil(t, w.configMap("default"))

		w.patchNamespace("unlabelled", `{"labels":{"team":"green"}}`)
		w.setContact("before", "phone 2")
		require.Equal(t, "green", w.says("unlabelled")["team"])
		require.Equal(t, "phone 2", w.says("before")["contact"])
		require.Len(t, w.writes(), 4, "each ConfigMap is made once, and one of them is changed once")
	})
}

func TestWhatUsersDeleteOrChangeIsRepaired(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		defer w.start()()
		wanted := w.says("a")
		for _, spoil := range []func(){
			func() { w.delete("a") },
			func() { w.change("a", func(c *corev1.ConfigMap) { c.Data["contact"] = "nobody" }) },
			func() { w.change("a", func(c *corev1.ConfigMap) { c.Data["more"] = "than wanted" }) },
			func() { w.change("a", func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"b": {1}} }) },
			func() { w.change("a", func(c *corev1.ConfigMap) { c.Data, c.Immutable = nil, new(true) }) },
			func() { w.change("a", func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"note": "mine"} }) },
		} {
			spoil()
			require.Equal(t, wanted, w.says("a"))
			require.Empty(t, w.configMap("a").BinaryData)
		}
		require.Equal(t, "mine", w.configMap("a").Annotations["note"], "what users add besides the data is theirs")
	})
}

func TestWhoseLabelGoesLosesTheConfigMap(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		defer w.start()()
		require.NotNil(t, w.configMap("a"))
		w.patchNamespace("a", `{"labels":{"team":null}}`)
		require.Nil(t, w.configMap("a"))
		w.patchNamespace("a", `{"labels":{"team":"red"}}`)
		require.NotNil(t, w.configMap("a"))
	})
}

func TestATerminatingNamespaceIsLeftInPeace(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		_, err := w.users.CoreV1().Secrets("a").Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "stays", Finalizers: []string{"example.com/stays"}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		defer w.start()()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: "create"}, Delay: time.Second})
		w.delete("a") // so that it is made again, and refused
		require.NoError(t, w.users.CoreV1().Namespaces().Delete(w.Context(), "a", metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		before := len(w.writes())
		time.Sleep(time.Hour)
		require.Len(t, w.writes(), before)
		require.Nil(t, w.configMap("a"))
	})
}

func TestAFailedWriteIsTriedAgainAndLaterEachTime(t *testing.T) {
	for _, fault := range []fakeapi.Fault{
		{Status: fakeapi.InternalError()}, {Status: fakeapi.Conflict()}, {Refuse: true}, {Status: fakeapi.TooManyRequests(0)},
	} {
		inWorld(t, func(w *world) {
			w.makeNamespace("a", ofTeam)
			defer w.start()()
			fault.Match, fault.Times = fakeapi.Match{Resource: "configmaps", Verb: "update", UserAgent: agent}, 8
			w.server.Inject(fault)
			begin := time.Now()
			w.setContact("a", "phone 2")
			for w.says("a")["contact"] != "phone 2" {
				require.Less(t, time.Since(begin), time.Minute)
				time.Sleep(time.Millisecond)
			}
			require.InDelta(t, 1.275, time.Since(begin).Seconds(), 0.002, "8 failures: 5 ms, and twice as long each time")
		})
	}
}

func TestTheControllerReadsItsOwnWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: "watch"}, DelayEvents: time.Second})
		defer w.start()()
		time.Sleep(time.Minute)
		w.makeNamespace("a", ofTeam)
		w.setContact("a", "phone 2")
		w.setContact("a", "phone 3")
		time.Sleep(time.Minute)
		require.Equal(t, "phone 3", w.says("a")["contact"])
		require.Equal(t, []string{"create configmaps in a", "update configmaps a/team"}, w.writes())
	})
}

func TestARestartWritesNothingNeedlesslyAndMakesUpForWhatItMissed(t *testing.T) {
	inWorld(t, func(w *world) {
		for n := range 20 {
			w.makeNamespace("n"+strconv.Itoa(n), ofTeam)
		}
		w.start()()
		require.Len(t, w.writes(), 20)
		w.server.ForgetRequests()
		w.start()()
		require.Empty(t, w.writes(), "all was as it should be")

		w.delete("n3")
		w.setContact("n4", "phone 2")
		w.patchNamespace("n5", `{"labels":{"team":null}}`)
		w.server.ForgetRequests()
		defer w.start()()
		require.ElementsMatch(t, []string{"create configmaps in n3", "update configmaps n4/team", "delete configmaps n5/team"}, w.writes())
	})
}

func TestNothingIsDecidedBeforeBothListsAreComplete(t *testing.T) {
	for _, late := range []string{"namespaces", "configmaps"} {
		inWorld(t, func(w *world) {
			w.makeNamespace("a", ofTeam)
			w.start()()
			w.server.ForgetRequests()
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: late, UserAgent: agent}, Delay: time.Minute})
			defer w.start()()
			time.Sleep(time.Hour)
			require.Empty(t, w.writes(), "late are the %s", late)
		})
	}
}

func TestAConfigMapOfSomebodyElseIsLeftAloneUntilItGoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", nil)
		theirs := map[string]string{"theirs": "yes"}
		_, err := w.users.CoreV1().ConfigMaps("a").Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Data: theirs}, metav1.CreateOptions{})
		require.NoError(t, err)
		defer w.start()()
		w.patchNamespace("a", `{"labels":{"team":"red"}}`)
		require.Equal(t, theirs, w.says("a"))
		require.Empty(t, w.writes(), "nobody may write to it but its owner")
		w.delete("a")
		require.Equal(t, "red", w.says("a")["team"], "now there is room for ours")
	})
}

func TestAConfigMapThatAUserTakesOverIsTheirs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		defer w.start()()
		require.NotNil(t, w.configMap("a"))
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "delete", UserAgent: agent}, Delay: time.Second, Times: 1})
		w.patchNamespace("a", `{"labels":{"team":null}}`)
		synctest.Wait() // the deletion is under way
		w.change("a", func(c *corev1.ConfigMap) { c.Labels = nil })
		time.Sleep(time.Minute)
		require.NotNil(t, w.configMap("a"))
	})
}

// world is an in-memory API server with users and, when it is started, the program.
type world struct {
	*testing.T
	server *fakeapi.Server
	users  kubernetes.Interface
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

const agent = "teams-under-test"

// start runs the program until stop, which returns when it has ended.
func (w *world) start() (stop func()) {
	config := w.server.Config()
	config.UserAgent = agent
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, config) }()
	synctest.Wait()
	return func() {
		cancel()
		require.NoError(w, <-ended)
	}
}

func (w *world) makeNamespace(name string, labels map[string]string) {
	_, err := w.users.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels, Annotations: map[string]string{contactAnnotation: "phone 1"},
	}}, metav1.CreateOptions{})
	require.NoError(w, err)
	synctest.Wait()
}

func (w *world) patchNamespace(name, metadata string) {
	_, err := w.users.CoreV1().Namespaces().Patch(w.Context(), name, types.MergePatchType, []byte(`{"metadata":`+metadata+`}`), metav1.PatchOptions{})
	require.NoError(w, err)
}

func (w *world) setContact(name, contact string) {
	w.patchNamespace(name, `{"annotations":{"contact":"`+contact+`"}}`)
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

// writes are the program's requests that change something.
func (w *world) writes() []string {
	synctest.Wait()
	var writes []string
	for _, request := range w.server.Requests(fakeapi.Match{UserAgent: agent}) {
		if request.Verb == "create" || request.Verb == "update" || request.Verb == "delete" {
			writes = append(writes, request.String())
		}
	}
	return writes
}

var ofTeam = map[string]string{teamLabel: "red"}
