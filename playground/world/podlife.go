package world

import (
	"hash/fnv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stage is where a Pod's only container is. A Pod goes from one to the next when its time is over:
//
//	pulling -> starting -> ready                          web:1
//	pulling -> noImage -> pulling -> ...                  registry.invalid/web:1
//	pulling -> starting -> crashed -> starting -> ...     web:bad
//	pulling -> starting -> ended                          any of a Pod that isn't restarted
type stage int

const (
	pulling stage = iota
	noImage
	starting
	ready
	crashed
	ended
)

// How long a stage takes.
const (
	pullTime  = 600 * time.Millisecond
	startTime = 900 * time.Millisecond
	slowStart = 5 * time.Second
	crashTime = time.Second
	workTime  = 3 * time.Second // of a Pod that ends by itself
	stopTime  = time.Second     // between SIGTERM and the end

	firstBackOff = 10 * time.Second // doubles with each crash, or pull that failed
	maxBackOff   = 5 * time.Minute
)

// life is what a kubelet knows of a Pod that runs on its node.
type life struct {
	stage    stage
	began    time.Time // of the stage
	admitted time.Time
	failures int // pulls that failed, or crashes, in a row
	restarts int
	lastExit *corev1.ContainerStateTerminated
	stopping time.Time // when it was told to; zero is not
}

// image says what becomes of a container, by the name of its image.
type image struct{ absent, slow, bad bool }

func imageOf(pod *corev1.Pod) image {
	name := pod.Spec.Containers[0].Image
	host, _, _ := strings.Cut(name, "/")
	return image{
		absent: strings.HasSuffix(host, ".invalid"),
		slow:   strings.HasSuffix(name, ":slow"), bad: strings.HasSuffix(name, ":bad"),
	}
}

// advance moves a Pod on to where it is now. It returns how long it stays there; 0 is until
// something changes. over means that its process was stopped: the object can go.
func (l *life) advance(pod *corev1.Pod, now time.Time) (wait time.Duration, over bool) {
	if l.admitted.IsZero() {
		l.admitted, l.began = now, now
	}
	if pod.DeletionTimestamp != nil && l.stopping.IsZero() {
		l.stopping = now
	}
	if !l.stopping.IsZero() {
		if left := l.stopping.Add(stopTime).Sub(now); left > 0 && l.stage != pulling {
			return left, false
		}
		return 0, true
	}
	for {
		takes, next := l.takes(pod)
		if takes == 0 {
			return 0, false
		}
		end := l.began.Add(takes)
		if left := end.Sub(now); left > 0 {
			return left, false
		}
		l.enter(next, end)
	}
}

// takes returns how long this stage takes, and what comes next. 0 is forever.
func (l *life) takes(pod *corev1.Pod) (time.Duration, stage) {
	is, once := imageOf(pod), pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	switch l.stage {
	case pulling:
		if is.absent {
			return pullTime, noImage
		}
		return pullTime + jitter(pod), starting
	case noImage:
		return backOff(l.failures), pulling
	case starting:
		switch {
		case is.bad && pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
			return crashTime, ended
		case is.bad:
			return crashTime, crashed
		case is.slow:
			return slowStart, map[bool]stage{true: ended, false: ready}[once]
		case once:
			return workTime, ended
		}
		return startTime, ready
	case crashed:
		return backOff(l.failures), starting
	}
	return 0, l.stage
}

func (l *life) enter(next stage, at time.Time) {
	switch {
	case next == crashed || next == noImage:
		l.failures++
	case next == starting && l.stage == crashed:
		l.restarts++
	}
	if next == crashed {
		l.lastExit = exit(1, l.began, at)
	}
	l.stage, l.began = next, at
}

// exit is the end of a container.
func exit(code int32, began, ended time.Time) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: metav1.NewTime(began), FinishedAt: metav1.NewTime(ended),
	}
}

func backOff(failures int) time.Duration {
	return min(maxBackOff, firstBackOff<<min(failures-1, 10))
}

// jitter keeps Pods that were created together from starting in step.
func jitter(pod *corev1.Pod) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pod.UID))
	return time.Duration(h.Sum32()%8) * 50 * time.Millisecond
}

// status is what the kubelet reports. Conditions keep the time of their last change.
func (l *life) status(pod *corev1.Pod, node *node) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	s.Phase, s.Reason, s.Message = corev1.PodPending, "", ""
	s.HostIP, s.HostIPs = node.ip, []corev1.HostIP{{IP: node.ip}}
	s.StartTime = new(metav1.NewTime(l.admitted).Rfc3339Copy())
	container := corev1.ContainerStatus{
		Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, RestartCount: int32(l.restarts),
	}
	if l.lastExit != nil {
		container.LastTerminationState.Terminated = l.lastExit
	}
	waits := func(reason, message string) {
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
	}
	switch l.stage {
	case pulling:
		if l.failures > 0 {
			waits("ErrImagePull", "failed to pull "+container.Image+": no such host")
		} else {
			waits("ContainerCreating", "")
		}
	case noImage:
		waits("ImagePullBackOff", "Back-off pulling image "+container.Image)
	case crashed:
		s.Phase = corev1.PodRunning
		waits("CrashLoopBackOff", "back-off restarting failed container")
	case ended:
		s.Phase = corev1.PodSucceeded
		code := int32(0)
		if imageOf(pod).bad {
			s.Phase, code = corev1.PodFailed, 1
		}
		container.State.Terminated = exit(code, l.admitted, l.began)
	default:
		s.Phase = corev1.PodRunning
		container.State.Running = &corev1.ContainerStateRunning{
			StartedAt: metav1.NewTime(l.began).Rfc3339Copy(),
		}
		container.Started = new(true)
		container.Ready = l.stage == ready
	}
	s.ContainerStatuses = []corev1.ContainerStatus{container}
	if l.stage != pulling && l.stage != noImage && s.PodIP == "" {
		s.PodIP = node.nextIP()
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
	now := metav1.NewTime(l.began).Rfc3339Copy()
	set := func(kind corev1.PodConditionType, is bool) {
		setCondition(&s.Conditions, kind, is, now)
	}
	set(corev1.PodInitialized, true)
	set(corev1.ContainersReady, container.Ready)
	set(corev1.PodReady, container.Ready)
	return s
}

// setCondition changes a condition, and its time if that's a change.
func setCondition(
	all *[]corev1.PodCondition,
	kind corev1.PodConditionType,
	is bool,
	now metav1.Time,
) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	for i := range *all {
		c := &(*all)[i]
		if c.Type == kind {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, now
			}
			return
		}
	}
	*all = append(*all, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now})
}
