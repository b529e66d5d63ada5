package event_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/event"
)

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version}}
}

func ExampleCreateEvent() {
	e := event.CreateEvent{Object: pod("web-1", "7"), IsInInitialList: true}
	fmt.Println(event.KindOf(e.Object), e.Object.GetName(), "was there before we came:", e.IsInInitialList)
	// Output: Pod web-1 was there before we came: true
}

func ExampleUpdateEvent() {
	e := event.UpdateEvent{ObjectOld: pod("web-1", "7"), ObjectNew: pod("web-1", "9")}
	fmt.Println("written:", e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion())
	// Output: written: true
}

func ExampleDeleteEvent() {
	e := event.DeleteEvent{Object: pod("web-1", "7"), DeleteStateUnknown: true}
	fmt.Println("gone, and nobody saw what it was like in the end:", e.DeleteStateUnknown)
	// Output: gone, and nobody saw what it was like in the end: true
}

func ExampleGenericEvent() {
	bell := make(chan event.GenericEvent, 1) // from whatever rings, to a source
	bell <- event.GenericEvent{Object: pod("web-1", "")}
	fmt.Println((<-bell).Object.GetName(), "needs a look")
	// Output: web-1 needs a look
}
