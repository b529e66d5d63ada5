package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// kwok plays every node that has this annotation.
const (
	nodeAnnotation      = "kwok.x-k8s.io/node"
	nodeAnnotationValue = "fake"
	nodeLabel           = "type"
	nodeLabelValue      = "kwok"
	kwokUser            = "loopwright-kwok"
)

// allowKwok gives kwok the permissions that its work needs, and no others.
func allowKwok(ctx context.Context, client kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: kwokUser},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"nodes/status", "pods/status"}, Verbs: []string{"patch", "update"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"patch", "update", "delete"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch"}},
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
		},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: kwokUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: kwokUser},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: kwokUser}},
	}
	_, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("allowing kwok its work: %w", err)
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("allowing kwok its work: %w", err)
	}
	return nil
}

// freeNodes deletes the leases by which kwok holds the nodes. kwok generates its holder name at
// every start, so a new one would wait until the leases of the old one expire, and all pods would
// wait for 40 s. The caller knows that the old one is dead.
func freeNodes(ctx context.Context, client kubernetes.Interface) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if err := leases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting the node leases of the kwok that ran before: %w", err)
	}
	return nil
}

// ours selects the nodes that ensureNodes made.
var ours = metav1.ListOptions{LabelSelector: nodeLabel + "=" + nodeLabelValue}

// ensureNodes makes the cluster have exactly the nodes node-1 to node-count, among those that kwok
// plays. With a count of 0 it only gives nodes to a cluster that has none. It doesn't touch other
// nodes.
func ensureNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	surplus := map[string]bool{}
	present, err := client.CoreV1().Nodes().List(ctx, ours)
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range present.Items {
		surplus[node.Name] = true
	}
	switch {
	case count == 0 && len(surplus) > 0:
		return nil
	case count == 0:
		count = defaultNodes
	}
	for i := range count {
		node := newNode(fmt.Sprintf("node-%d", i+1))
		if surplus[node.Name] {
			delete(surplus, node.Name)
			continue
		}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(surplus)) {
		if err := client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting surplus node %s: %w", name, err)
		}
	}
	return nil
}

// newNode describes a machine that is roomy enough for any demo. kwok fills in
// the conditions and addresses.
func newNode(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("2000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{nodeAnnotation: nodeAnnotationValue},
			Labels: map[string]string{
				nodeLabel:                nodeLabelValue,
				corev1.LabelHostname:     name,
				corev1.LabelOSStable:     "linux",
				corev1.LabelArchStable:   "amd64",
				corev1.LabelTopologyZone: "local",
			},
		},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
}

// readyNodes counts the nodes and those among them that are Ready and open for
// pods.
func readyNodes(ctx context.Context, client kubernetes.Interface, which metav1.ListOptions) (all, ready int, err error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, which)
	if err != nil {
		return 0, 0, fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if isReady(&node) {
			ready++
		}
	}
	return len(nodes.Items), ready, nil
}

func isReady(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// nodeCheck finds out whether every node that kwok plays is Ready. It ignores the others: a reader
// may have made one to break it. New nodes are tainted; without the node lifecycle controller, they
// stay so until the reader's own controller removes the taint.
func nodeCheck(originals []string) func(context.Context, kubernetes.Interface) error {
	tainted := slices.Contains(originals, Bare) || slices.Contains(originals, off+"node-lifecycle-controller")
	return func(ctx context.Context, client kubernetes.Interface) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, ours)
		if err != nil {
			return fmt.Errorf("listing nodes: %w", err)
		}
		ready := 0
		for _, node := range nodes.Items {
			if tainted {
				node.Spec.Taints = nil
			}
			if isReady(&node) {
				ready++
			}
		}
		if all := len(nodes.Items); all == 0 || ready < all {
			return fmt.Errorf("%d of %d nodes are ready", ready, all)
		}
		return nil
	}
}

// checkServiceAccount finds out whether an ordinary pod would be admitted.
func checkServiceAccount(ctx context.Context, client kubernetes.Interface) error {
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("looking for the default ServiceAccount: %w", err)
	}
	return nil
}

// checkWritable writes a small object. An etcd that ran out of space still answers reads, so only a
// write shows it.
func checkWritable(ctx context.Context, client kubernetes.Interface) error {
	note := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "loopwright", Namespace: metav1.NamespaceSystem},
		Data:       map[string]string{"checked": metav1.Now().UTC().Format("2006-01-02T15:04:05.000Z")},
	}
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	_, err := configMaps.Update(ctx, note, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configMaps.Create(ctx, note, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing a first object: %w", err)
	}
	return nil
}

var errUnhealthy = errors.New("the API server is not ready")

// checkServing asks the API server whether it's ready.
func checkServing(ctx context.Context, client kubernetes.Interface) error {
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("%w: %w", errUnhealthy, err)
	}
	return nil
}
