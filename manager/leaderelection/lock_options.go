package leaderelection

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/internal/useragent"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/recorder/record"
)

// Options describe the lock that a manager uses.
type Options struct {
	// LeaderElection is false if there's no election. Then NewResourceLock returns nil.
	LeaderElection bool

	// LeaderElectionResourceLock is the type of the lock: resourcelock.LeasesResourceLock, which is
	// the default.
	LeaderElectionResourceLock string

	// LeaderElectionNamespace is the namespace of the lock. In a Pod, the default is the Pod's
	// namespace.
	LeaderElectionNamespace string

	// LeaderElectionID is the name of the lock. It has no default, because two programs with one
	// lock would take turns.
	LeaderElectionID string

	// RenewDeadline is the time within which a leader has to renew its lease, as in the manager's
	// Options. The lock only uses it to bound its requests: one may take half of that time, so that
	// there's time for a second try, and a second at least. Zero sets no bound here; the elector
	// sets the same bound.
	RenewDeadline time.Duration

	// LeaderLabels are put onto the lock by the leader.
	LeaderLabels map[string]string
}

// EventRecorderProvider makes event recorders by the name of the reporting component. A manager is
// one, and so is every recorder.Provider.
type EventRecorderProvider interface {
	GetEventRecorderFor(name string) record.EventRecorder
}

// namespaceFile is where a Pod finds the name of its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// NewResourceLock makes the lock that a manager uses. Its identity is the host's name, which is the
// Pod's, and a random part: a Pod that is restarted is another replica. The provider may be nil;
// then there are no events.
func NewResourceLock(
	config *rest.Config, recorderProvider EventRecorderProvider, options Options,
) (resourcelock.Interface, error) {
	if !options.LeaderElection {
		return nil, nil
	}
	if options.LeaderElectionID == "" {
		return nil, errors.New("leader election: LeaderElectionID is missing; choose a name " +
			"that no other program in the namespace uses")
	}
	if options.LeaderElectionResourceLock == "" {
		options.LeaderElectionResourceLock = resourcelock.LeasesResourceLock
	}
	if options.LeaderElectionNamespace == "" {
		namespace, err := PodNamespace()
		if err != nil {
			return nil, fmt.Errorf("leader election: %w", err)
		}
		options.LeaderElectionNamespace = namespace
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("leader election: finding a name for this replica: %w", err)
	}
	identity := host + "_" + string(uuid.NewUUID())

	config = useragent.Of(config, "leader-election")
	if options.RenewDeadline != 0 {
		config.Timeout = max(options.RenewDeadline/2, time.Second)
	}
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("leader election: making a client: %w", err)
	}
	who := resourcelock.ResourceLockConfig{Identity: identity}
	if recorderProvider != nil {
		who.EventRecorder = recorderProvider.GetEventRecorderFor(identity)
	}
	return resourcelock.NewWithLabels(
		options.LeaderElectionResourceLock, options.LeaderElectionNamespace,
		options.LeaderElectionID, nil, client, who, options.LeaderLabels)
}

// PodNamespace returns the namespace of the Pod in which this process runs. controller-runtime has no
// such function.
func PodNamespace() (string, error) { return podNamespace(namespaceFile) }

// podNamespace reads the name of the namespace in which this process runs.
func podNamespace(file string) (string, error) {
	content, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", errors.New("this process does not run in a Pod, so LeaderElectionNamespace is " +
			"needed")
	case err != nil:
		return "", fmt.Errorf("finding the Pod's namespace: %w; or set LeaderElectionNamespace", err)
	}
	namespace := strings.TrimSpace(string(content))
	if namespace == "" {
		return "", fmt.Errorf("finding the Pod's namespace: %s is empty; set LeaderElectionNamespace",
			file)
	}
	return namespace, nil
}
