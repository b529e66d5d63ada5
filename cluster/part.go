package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// Part is one of the processes that an embedded cluster consists of.
type Part string

// The parts, in the order in which they need each other.
const (
	Etcd              Part = "etcd"
	APIServer         Part = "kube-apiserver"
	ControllerManager Part = "kube-controller-manager"
	Scheduler         Part = "kube-scheduler"
	Kwok              Part = "kwok"
)

// Parts lists all parts, each after those it needs.
var Parts = []Part{Etcd, APIServer, ControllerManager, Scheduler, Kwok}

// checkParts refuses a choice of parts that couldn't work.
func checkParts(chosen []Part) error {
	for _, part := range chosen {
		if !slices.Contains(Parts, part) {
			return fmt.Errorf("the cluster has no part %q: want some of %v", part, Parts)
		}
	}
	if chosen == nil || slices.Contains(chosen, Etcd) && slices.Contains(chosen, APIServer) {
		return nil
	}
	return fmt.Errorf("a cluster of %v alone: it cannot be without %s and %s", chosen, Etcd, APIServer)
}

// Pods on nodes get their addresses from podCIDR, and Services from serviceCIDR. No packet ever
// goes there.
const (
	podCIDR     = "10.244.0.1/16"
	serviceCIDR = "10.96.0.0/16"
	fakeNodeIP  = "10.0.0.1"
)

// arguments returns the command line of a part. The whole control plane is configured here;
// anything it leaves out has the original's default.
func arguments(part Part, at place, state state) []string {
	switch part {
	case Etcd:
		return []string{
			"--data-dir=" + at.etcdData(),
			"--listen=" + state.etcdURL(),
			"--cert-file=" + at.pki("etcd-server.crt"),
			"--key-file=" + at.pki("etcd-server.key"),
			"--trusted-ca-file=" + at.pki("etcd-ca.crt"),
		}
	case APIServer:
		arguments := apiServerArguments(at, state)
		if !state.has(ControllerManager) {
			// This plugin requires the ServiceAccount that every pod gets by default, which does
			// not exist without the controller manager.
			arguments = append(arguments, "--disable-admission-plugins=ServiceAccount")
		}
		return arguments
	case ControllerManager:
		return []string{
			"--kubeconfig=" + at.client("kube-controller-manager"),
			"--controllers=" + controllersFlag("*", state.Originals),
			"--use-service-account-credentials=true",
			"--service-account-private-key-file=" + at.pki("service-account.key"),
			"--root-ca-file=" + at.pki("ca.crt"),
			"--cluster-signing-cert-file=" + at.pki("ca.crt"),
			"--cluster-signing-key-file=" + at.pki("ca.key"),
			"--leader-elect=false",
			"--secure-port=0",
			"--kube-api-qps=200",
			"--kube-api-burst=400",
		}
	case Scheduler:
		return []string{
			"--kubeconfig=" + at.client("kube-scheduler"),
			"--leader-elect=false",
			"--secure-port=0",
			"--kube-api-qps=200",
			"--kube-api-burst=400",
		}
	case Kwok:
		return []string{
			"--kubeconfig=" + at.client("kwok"),
			"--manage-nodes-with-annotation-selector=" + nodeAnnotation + "=" + nodeAnnotationValue,
			"--cidr=" + podCIDR,
			"--node-ip=" + fakeNodeIP,
			"--node-lease-duration-seconds=40",
			"--node-port=0", // else kwok serves a kubelet's API on every interface
		}
	}
	panic("no such part: " + string(part))
}

func apiServerArguments(at place, state state) []string {
	return []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", state.APIServerPort),
		// The advertised address becomes the endpoint of the Service "kubernetes", where a loopback
		// address isn't allowed. No pod here runs a program that could call it, so the API server
		// doesn't publish it.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--allow-privileged=true",

		"--etcd-servers=" + state.etcdURL(),
		"--etcd-cafile=" + at.pki("etcd-ca.crt"),
		"--etcd-certfile=" + at.pki("etcd-client.crt"),
		"--etcd-keyfile=" + at.pki("etcd-client.key"),

		"--tls-cert-file=" + at.pki("kube-apiserver.crt"),
		"--tls-private-key-file=" + at.pki("kube-apiserver.key"),
		"--client-ca-file=" + at.pki("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--anonymous-auth=false",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + at.pki("service-account.key"),
		"--service-account-signing-key-file=" + at.pki("service-account.key"),
	}
}

// controllersFlag is the value of kube-controller-manager's --controllers: the given base without
// the sample controllers, except for those that should stay, and without the optional ones that
// shouldn't; or the few of a bare cluster.
func controllersFlag(base string, originals []string) string {
	if slices.Equal(originals, []string{Bare}) {
		return strings.Join(bareControllers, ",")
	}
	flag := []string{base}
	for _, name := range SampleControllers {
		if !slices.Contains(originals, name) {
			flag = append(flag, off+name)
		}
	}
	for _, name := range originals {
		if strings.HasPrefix(name, off) {
			flag = append(flag, name)
		}
	}
	return strings.Join(flag, ",")
}
